"""Whether every fire time that a recurring job should have had has one recorded outcome.

The times are computed anew from the schedule and laid beside the records, so this does not trust the stamping that it
checks. Of a job that was read *before* its records it holds: what lies before the job's position was stamped, and what
was stamped is recorded. A time without a record is therefore a hole, and not a matter of when one looked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.domain.ids import is_scheduled
from onthedot.domain.runs.endings import TOMBSTONE_DAYS
from onthedot.domain.runs.records import TERMINAL, Kind, Record, Status
from onthedot.domain.runs.stamping import STAMPS_PER_PASS, expected_times
from onthedot.domain.schedules.schedule import Schedule

_MINUTE_MS: Final = 60_000
_DAY_MS: Final = 86_400_000
SETTLING_MS: Final = 10 * _MINUTE_MS
"""Times nearer than this are left for the next audit: most of them are still under way."""
WINDOW_MS: Final = 25 * 60 * _MINUTE_MS
PATIENCE_MS: Final = 15 * _MINUTE_MS
"""How long a run may wait past the moment when it was due to move before it is called late."""
MOST_TIMES: Final = 200
"""Of one job and audit: of a job that fires more often, the latest."""
_MOST_IN_WINDOW: Final = 20_000
"""Cron fires once a minute at most, so this is more than two weeks of it."""
_NO_RECORD: Final = "no run and no skipped range is recorded for this time"


@dataclass(frozen=True, slots=True)
class Finding:
    """A fire time that something is wrong with, and what."""

    time: int
    why: str


@dataclass(frozen=True, slots=True)
class Report:
    """`expected` times are `accounted` for, or `holes`, or `late`, or `unread`: they add up."""

    expected: int = 0
    accounted: int = 0
    """Ended, skipped with a reason, or under way in good time."""
    holes: tuple[Finding, ...] = ()
    """Nothing is known about these: a promise was broken."""
    late: tuple[Finding, ...] = ()
    """Not lost, but waiting for longer than it should."""
    unread: int = 0
    """Whether these have a record was not found out: the job has too many."""


def window(job: Record, now: int, history_days: int) -> tuple[int, int]:
    """What to audit now, as `after < time < until`: the last day.

    Where nothing was due on it, as with a weekly job, back to the last time before, as far as records are kept.
    """
    until = now - SETTLING_MS
    recent = until - WINDOW_MS
    # A day less than the records' age: the last one may have ended long after its time, but none ends before it.
    oldest = until - (max(history_days, TOMBSTONE_DAYS) - 1) * _DAY_MS
    if job.recurrence is None or audited_times(job, recent, until):
        return recent, until
    last = _latest(job.recurrence.schedule, oldest, until, 1)
    return (last[0] - 1 if last else recent), until


def audited_times(job: Record, after: int, until: int) -> tuple[int, ...]:
    """The latest times with `after < time < until` that must have an outcome by the job as it is.

    None before its present schedule began: what an earlier one expected, nobody remembers. None of a paused job: what
    the pause holds up is settled when it ends.
    """
    if job.recurrence is None or job.status is Status.PAUSED:
        return ()
    if job.status is not Status.ACTIVE:
        until = min(until, _settled_until(job) + 1)
    since = job.created_at if job.scheduled_since is None else job.scheduled_since - 1
    return tuple(_latest(job.recurrence.schedule, max(after, since), until, MOST_TIMES))


def audit(job: Record, times: Sequence[int], records: Sequence[Record], now: int) -> Report:
    """Lay the times beside the records. A run's own record decides; a range speaks for times that have none."""
    runs = {record.nominal_at: record for record in records if is_scheduled(record.run_id)}
    ranges = [(r.nominal_at, r.skipped_until or r.nominal_at) for r in records if r.kind is Kind.SKIPPED_RANGE]
    expected = [time for time in times if time <= _last_of_all(job, runs, times)]
    holes: list[Finding] = []
    late: list[Finding] = []
    for time in expected:
        if time in runs:
            why = _why_late(runs[time], now)
        elif any(first <= time <= last for first, last in ranges):
            why = None
        elif job.status is Status.ACTIVE and time > _settled_until(job):
            why = "not stamped yet" if time >= job.fire_at and now - time > PATIENCE_MS else None
        else:
            holes.append(Finding(time, _NO_RECORD))
            continue
        if why is not None:
            late.append(Finding(time, why))
    accounted = len(expected) - len(holes) - len(late)
    return Report(len(expected), accounted, tuple(holes), tuple(late))


def no_range_reaches(records: Sequence[Record], time: int) -> bool:
    """Whether these records, read from the latest back, go far enough to know that no older range covers the time.

    A range may begin long before it. But runs that were stamped ahead of their times lie inside a range only if their
    stamping died before the job moved on, and one stamping makes no more than so many: with more than those in
    between, the job had moved on, and a range from before them ended before them.
    """
    return sum(_stamped_ahead(record) and record.nominal_at < time for record in records) > STAMPS_PER_PASS


def _stamped_ahead(record: Record) -> bool:
    """And not caught up with or backfilled, which happens within ranges too."""
    return is_scheduled(record.run_id) and record.created_at <= record.nominal_at


def _settled_until(job: Record) -> int:
    """The last time that the job has dealt with.

    Between it and the next fire there can be times that clocks jump over: they are recorded together with that fire.
    """
    return job.fire_at - 1 if job.accounted_until is None else min(job.fire_at - 1, job.accounted_until)


def _why_late(run: Record, now: int) -> str | None:
    """A live run waits for its fire time, that of a retry too, or for the end of its lease: somebody moves it then."""
    if run.status in TERMINAL:
        return None
    moves_at = run.fire_at if run.lease_until is None else run.lease_until
    if now - moves_at <= PATIENCE_MS:
        return None
    return f"{run.status} for {(now - moves_at) // _MINUTE_MS} min after it was due to move"


def _last_of_all(job: Record, runs: dict[int, Record], times: Sequence[int]) -> int:
    """A job that has made its `max_runs` expects nothing after the last of them; lowered, it ends where it stands."""
    last = times[-1] if times else 0
    limit = job.recurrence.max_runs if job.recurrence else None
    if job.status is Status.COMPLETED and limit is not None and (job.stamped or 0) >= limit:
        return min(last, max(runs, default=job.fire_at - 1))
    return last


def _latest(schedule: Schedule, after: int, until: int, most: int) -> list[int]:
    """The last so many of the expected times, found by looking back in doubling steps: fires are counted forwards."""
    span = most * 1000  # nothing fires more often than once a second
    while True:
        begin = max(after, until - span)
        times = expected_times(schedule, begin, until, _MOST_IN_WINDOW)
        if len(times) >= most or begin == after:
            return times[-most:]
        span *= 2
