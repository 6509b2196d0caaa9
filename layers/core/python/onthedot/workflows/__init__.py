"""Jobs that wait for jobs, and graphs that are submitted whole.

A child is WAITING with the set of parents that have not ended (`waits_for`); each parent has the set `children`.
Linking adds a child to its parents and increments `dependents`; a move that ends a run expects the count that it
read, so none ends without knowing all its children. A parent ends into a watch slot (`notify_pending`), notifies each
child, and leaves the slot. Notifying removes the parent from the child's set; the removal that empties it schedules
the child. Notifying twice changes nothing, so a message or the sweep may repeat all of it.

A parent that did not succeed ends the child by `on_parent_failure`, and the child's children are notified in turn.

Bounds: 1,000 children of a job (their ids are in its record), 100 parents, 500 jobs in a workflow. The move that
links a child expects room, so two requests cannot pass the bound together. Notifying looks at its deadline before
each child.

A workflow is one job whose target makes the graph, so it is accepted whole, and a cron workflow is a recurring job.
Its run makes the graph like any run, with retries: children before parents, ids from run and key, put if absent. If
the graph cannot be made, the jobs that exist are ended and the others stored as ended.
"""
