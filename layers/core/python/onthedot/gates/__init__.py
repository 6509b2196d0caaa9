"""Gates: limits on how many attempts run at a time and how many start per second.

A tenant's limits, named gates, each key of them, a closed queue and a job's turn are gates. `GateLimits` are cached
for a second, and a call that changes them returns after four: then they hold everywhere. `GateState` has the holders
(pages of 8, so that a write stays below 1 KB), the flag (slot, fire time, age), the waiting lists, and the rate's
next start. There is no counter and no transaction. Without each rule:

- *flag before the list, and within 30 s*: the look finds the list empty and leaves; the run waits forever.
- *leave by compare-and-set, after the lag of the index*: the same.
- *look once more after going on the list*: a place freed in between wakes nobody.
- *a message whose run is on a list flags again*: a run is parked at a gate that has left.
- *a new generation on the list*: a second message starts the waiting run.
- *fence, then free*: a worker that outslept its lease runs alongside its successor.
- *remove only your own holder*: a late worker frees its successor's place.
- *woken counts at every gate, and a wake is passed on*: two gates wake runs that refuse each other.
- *one order of gates* (tenant, then by name): two runs hold one place each and wait for the other.
- *rates at the instant of the start*: some window has more starts than the rate allows.

`tests/model/gates` switches each rule off. Change the model first.
"""
