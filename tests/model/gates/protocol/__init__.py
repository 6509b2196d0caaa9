"""The protocol of a gate with one page of holders: ask, wait, finish, wake, look, PUT, PATCH and DELETE.

Each effect on one item is one atomic step. Between any two steps of a process any other process may move, the process
may crash, or, if it is a worker, be stopped beyond its lease and go on later.

* Generations: a reference to a run (a message, a holder, a variable of a worker) is current or old. A new generation of
  the run makes all references to it old. Attempt tokens are renamed in one order.
* Index: `shown` has the lists on which the index may still show the run although it left. `lag` says that the index may
  not yet show the present list of the run (1: written in time, 2: written by a late worker). A read of a list gives any
  answer that agrees with this.
* Time: the slot of a gate is 0 (no slot), FRESH (its flag is younger than the grace) or OLD. It gets old only when each
  worker in time has done its park and the index shows each entry that was parked in time. A late worker does not keep
  time from passing. A worker leaves a flag that is younger than five seconds as it is: in such time this is the same as
  a new flag, so the model has no step for it.
* A lease ends only if its worker is dead or late. A holder is old enough for a fence only if its worker is.
* A crash makes the message of the worker visible again. A stop makes a second copy of it visible.

Properties:

* S1: more attempts start than the limits in force allow, or (I1) an attempt runs with a live lease and no place.
* S2: a run is lost: no way without faults leads to the end of all runs.
* S4: a run is on a list, its gate is in no slot, and no worker has still to flag the gate.
* S4b: a look at a gate with a free place and a waiting run wakes no run.
* S4f: all is at rest without any fault, a place is free and a run waits: it waits for the look, which takes long.
* S5: a circle of steps without faults in which a run goes on a list.
"""
