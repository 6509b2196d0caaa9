"""A calendar library: cron, intervals, time zones, and when they fire. It knows nothing about runs.

Five fields with names, steps, ranges over the end, `L`, `W`, `#`, and EventBridge's six fields inside `cron(...)`,
whose weekdays are 1 to 7. Parsing is strict: what other crons read in two ways is refused with the spelling to use
instead. `H` is resolved once, from a job's id, and the plain fields are stored.

An expression that covers all 24 hours follows elapsed time through a clock change, so `*/15 * * * *` never pauses for
an hour. Any other expression names hours, and the job's policy decides about the gap (`run_after`, `skip`) and the
overlap (`once`, `twice`).

`next` costs a few microseconds. Counting fire times between two instants is arithmetic, so a pause of a week on a job
that fires each second costs no more than any other. Zones come from the pinned `tzdata`, never from the machine.

Misfires: times that are overdue by more than the grace are settled by the policy, in one pass, as one span. Times
that already have a run are never part of it.
"""
