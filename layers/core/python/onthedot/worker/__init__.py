"""The loop of a worker: sources that yield runs, performers that run them, one keeper of their leases.

Sources: Lambda's event (ten messages, or one in the pool `long`), long polls of a pool's queues (`--direct`), leases
over REST, the memory queues of `serve`. The steps of an attempt are the same in all.

- The lease keeper extends all leases of the process every ten seconds, and stops a call five seconds before a lease
  that it could not extend ends.
- A batch on Lambda: an error of one run keeps its own message only. A batch that takes more than five seconds deletes
  the messages of finished runs itself. Ten seconds before the function would be killed, it hides the messages of runs
  that have not ended and ends its process.
- A run that lost a worker runs alone.
- Stopping: take nothing more, let runs finish within the grace, hand back the rest.
- On Fargate a task that may outlast the grace asks for protection. Shell tasks have no role and cannot.
- A worker sends retries to the queue that invokes it. Lambda would stop such a loop after about 16 turns, so worker
  and dispatcher declare `RecursiveLoop: Allow`.
"""
