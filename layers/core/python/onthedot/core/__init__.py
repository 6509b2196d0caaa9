"""Runs from submission to outcome: records, moves, slots, the tick, the attempt, retries.

A live run is in exactly one slot of the due index, the minute in which it needs attention next. A status is written
by a `Move` only: a compare-and-set that names what it expects and what it changes. Decisions are pure functions of a
record and one `now`; the use cases apply them through ports. Features join before a
start, after an end, and in `explain`.

Rules that hold everywhere:

- A watch slot is at least two minutes ahead. Whoever computes a slot writes it within 30 seconds or computes it
  again.
- The generation changes whenever a run is rescheduled; a message with another one is stale.
- A refusal by a record that already has our token or generation is a success whose reply was lost.
- A record that cannot be read or handled is set aside by a write that changes its slot only. It is looked at again
  every five minutes, or an hour later if it was readable.
- A COMPLETED job expires two days after its last run; starts, redrives and the sweep extend that, because a stamped
  run reads its definition from its job.
- Blobs: payloads and results over 1 KiB. A payload's key names its job and is never used twice. The auditor deletes
  one an hour after it was found unused.

Write units: one-off 9, direct path 6, recurring 8. A new write on the path of a run needs a reason.
"""
