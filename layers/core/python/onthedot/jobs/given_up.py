"""Fire times that a job gives up, because it is changed or stopped before they are settled.

An outage or a pause can hold up fire times of a recurring job. When a client then gives the job another schedule,
cancels it or deletes it, no later pass settles these times. They become one skipped range. The job and the range are
two records, and the API can die between two writes. With the range first, the change may then be refused, and the times
would have two outcomes. With the job first, the times may have none, and their schedule is gone.

So the move that changes the job also writes the times into it, as `given_up`, and puts it into a slot that is read
soon. Then the API stores the range, if absent, and a last move takes the times out of the job again
(`store_given_up`). When the API dies before that, the claim pass (for an ACTIVE job) or the sweep repeats these two
writes. A client that changes the job meanwhile repeats them first. Repeating them changes nothing: the id of the range
comes from its first time. Times that have a record of their own already are not counted again.
"""

from dataclasses import replace
from typing import Final

from onthedot.core.engine import Core
from onthedot.core.ids import is_scheduled
from onthedot.core.moves import Move, applied
from onthedot.core.records import Kind, Record, Status
from onthedot.core.slots import fire_slot, shard_of, watch_slot
from onthedot.schedules.counting import count_fires, last_fire
from onthedot.schedules.schedule import Schedule, fires_between, skipped_between

_LIVE: Final = (Status.ACTIVE, Status.PAUSED)
_PAGE: Final = 500
_MOST_PAGES: Final = 4


def with_given_up(engine: Core, job: Record, move: Move, now: int) -> Move:
    """Let the move also write into the job the times that it gives up, and put the job into a slot that is read soon.

    Records are read only if there are such times.
    """
    times = _given_up(engine, job, move, now)
    if times is None:
        return move
    shard = shard_of(job.job_id, engine.deployment.shards)
    slot = fire_slot(shard, now, now) if move.to is Status.ACTIVE else watch_slot(shard, now, now)
    return replace(move, changes={**move.changes, "given_up": times, "slot": slot})


def settled_until(job: Record) -> int:
    """Return the last time that the job has settled.

    Times that clocks jump over before the next fire time are recorded together with that fire time.
    """
    return job.due_at - 1 if job.accounted_until is None else min(job.due_at - 1, job.accounted_until)


def _given_up(engine: Core, job: Record, move: Move, now: int) -> str | None:
    """Return the times that the job would never settle after this move, as it stores them. None: there are none."""
    after = applied(job, move)
    if job.recurrence is None or job.status not in _LIVE:
        return None
    if after.status in _LIVE and after.schedule_version == job.schedule_version:
        return None  # the job keeps its position
    schedule, until = job.recurrence.schedule, now + 1
    times = expected_times(schedule, settled_until(job), until, MISSED_PER_PASS)
    recorded = _recorded(engine, job.job_id, times[0]) if times else []
    runs = {r.fire_time for r in recorded if is_scheduled(r.run_id) and r.fire_time < until}
    ranges = [(r.fire_time, r.skipped_until or r.fire_time) for r in recorded if r.kind is Kind.SKIPPED_RANGE]
    left = [at for at in times if at not in runs and not any(first <= at <= last for first, last in ranges)]
    if not left:
        return None
    last, count = left[-1], len(left)
    if len(times) == MISSED_PER_PASS:  # there may be millions behind the last computed one
        last = last_fire(schedule, last, until) or last
        count += count_fires(schedule, times[-1], until) - sum(at > times[-1] for at in runs)
    return f"{left[0]} {last} {count}"


def _recorded(engine: Core, job_id: str, first: int) -> list[Record]:
    """Return the job's records from this time on: runs that a pause skipped, stamps of a dispatcher that died."""
    records: list[Record] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = engine.store.runs_of(job_id, _PAGE, cursor)
        records += [record for record in page.items if (record.skipped_until or record.fire_time) >= first]
        cursor = page.cursor
        if cursor is None or any(record.fire_time < first for record in page.items):
            break
    return records


MISSED_PER_PASS: Final = 20_000
"""The most missed fire times that a change of a job gives up."""


def expected_times(schedule: Schedule, after: int, until: int, limit: int) -> list[int]:
    """Return the first `limit` times that must have an outcome: fire times, and times that a DST policy skips."""
    times = {*fires_between(schedule, after, until, limit), *skipped_between(schedule, after, until, limit)}
    return sorted(times)[:limit]
