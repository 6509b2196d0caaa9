"""The registry of pull workers, their leases, and which pool a job belongs to.

- Pools: `default` (within a minute, ten runs to a batch), `long` (up to 840 s, one at a time, one queue for all
  priorities), `pull` (workers of the users). Target, requirements and timeout choose the smallest pool that fits, at
  submit and at change. A stamped run whose job changed is rerouted at its start.
- The API starts the runs that it leases, so a worker never names a run that it was not given. Receipts are sealed
  with the attempt token. Leases count on the worker's monotonic clock from the moment it asked.
- A run that a worker cannot take is checked before its start and assigned by name to a live worker that can.
  Otherwise the message is hidden, longer each time, up to a minute.
- A message is renewed after 200 deliveries (its queue gives up after 1,000): send the new one, give the run its
  generation, delete the old one. At every moment exactly one message is valid.
- A killed pull worker is found by its message, hidden until lease + 4 s; a dead Lambda worker by the sweep. An
  attempt whose worker's heartbeats show that it lives without the run is taken back and counts as nothing.
- A worker's record is rewritten by each heartbeat and deleted after a day of silence; it names its latest 100 ended
  runs. Recovery does not depend on it.
"""
