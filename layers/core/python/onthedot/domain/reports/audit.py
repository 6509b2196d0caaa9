"""Check that every fire time that a recurring job should have had has one recorded outcome.

The audit computes the times again from the schedule and compares them with the records, so it does not trust the
stamping that it checks. The job must be read *before* its records. Then every time before the job's position was
stamped, and every stamped time is recorded. So a time without a record is a hole, whenever the audit looks.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.domain.gates.names import GateId, gate_of_slot, name_of
from onthedot.domain.gates.state import GateState
from onthedot.domain.ids import is_scheduled
from onthedot.domain.runs.endings import TOMBSTONE_DAYS
from onthedot.domain.runs.given_up import settled_until
from onthedot.domain.runs.records import TERMINAL, Kind, Record, Status
from onthedot.domain.runs.stamping import STAMPS_PER_PASS, expected_times
from onthedot.domain.schedules.schedule import Schedule

_MINUTE_MS: Final = 60_000
_DAY_MS: Final = 86_400_000
SETTLING_MS: Final = 10 * _MINUTE_MS
"""Times nearer to the present than this are left for the next audit, because most of their runs have not ended."""
WINDOW_MS: Final = 25 * 60 * _MINUTE_MS
"""The length of the window that one audit checks."""
PATIENCE_MS: Final = 15 * _MINUTE_MS
"""A run is late when it has waited longer than this after the moment when it was due to move."""
MOST_TIMES: Final = 200
"""Most times of one job in one audit. When there are more, the latest are checked."""
_MOST_IN_WINDOW: Final = 20_000
"""Most times in a window. Cron fires at most once a minute, so this is almost two weeks of it."""
_NO_RECORD: Final = "no run and no skipped range is recorded for this time"


@dataclass(frozen=True, slots=True)
class Finding:
    """A fire time with a problem."""

    time: int
    why: str
    """The problem as a sentence."""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an audit. `accounted`, `holes`, `late` and `unread` add up to `expected`."""

    expected: int = 0
    """Number of times that were checked."""
    accounted: int = 0
    """Number of times whose run has ended, was skipped with a reason, or is under way and not late."""
    holes: tuple[Finding, ...] = ()
    """The times without any record: a promise was broken."""
    late: tuple[Finding, ...] = ()
    """The times whose run is not lost, but waits longer than it should."""
    unread: int = 0
    """Number of times whose records were not read, because the job has too many."""


def window(job: Record, now: int, history_days: int) -> tuple[int, int]:
    """Return the window to audit now, as `after < time < until`: the last day.

    When no time was due on that day, as with a weekly job, the window goes back to the last time before it, as far as
    records are kept.
    """
    until = now - SETTLING_MS
    recent = until - WINDOW_MS
    # A day less than records are kept: a run may end long after its time, but never before it.
    oldest = until - (max(history_days, TOMBSTONE_DAYS) - 1) * _DAY_MS
    if job.recurrence is None or audited_times(job, recent, until):
        return recent, until
    last = _latest(job.recurrence.schedule, oldest, until, 1)
    return (last[0] - 1 if last else recent), until


def audited_times(job: Record, after: int, until: int) -> tuple[int, ...]:
    """Return the latest times with `after < time < until` that must have an outcome by the job as it is now.

    Times before the present schedule began are left out, because the earlier schedule is not stored. A paused job has
    none: the misfire policy settles the times of the pause when it ends.
    """
    if job.recurrence is None or job.status is Status.PAUSED:
        return ()
    if job.status is not Status.ACTIVE:
        until = min(until, settled_until(job) + 1)
    since = job.created_at if job.scheduled_since is None else job.scheduled_since - 1
    return tuple(_latest(job.recurrence.schedule, max(after, since), until, MOST_TIMES))


def audit(
    job: Record, times: Sequence[int], records: Sequence[Record], now: int, unwatched: Collection[GateId] = ()
) -> Report:
    """Compare the times with the records. The record of a run decides. A skipped range covers times without a run.

    A run that waits at a gate is not late, unless the gate is among the `unwatched` ones, at which no tick looks.
    """
    runs = {record.nominal_at: record for record in records if is_scheduled(record.run_id)}
    ranges = [(r.nominal_at, r.skipped_until or r.nominal_at) for r in records if r.kind is Kind.SKIPPED_RANGE]
    expected = [time for time in times if time <= _last_of_all(job, runs, times)]
    holes: list[Finding] = []
    late: list[Finding] = []
    for time in expected:
        if time in runs:
            why = _why_late(runs[time], now, unwatched)
        elif any(first <= time <= last for first, last in ranges):
            why = None
        elif job.status is Status.ACTIVE and time > settled_until(job):
            why = "not stamped yet" if time >= job.fire_at and now - time > PATIENCE_MS else None
        else:
            holes.append(Finding(time, _NO_RECORD))
            continue
        if why is not None:
            late.append(Finding(time, why))
    accounted = len(expected) - len(holes) - len(late)
    return Report(len(expected), accounted, tuple(holes), tuple(late))


def no_range_reaches(records: Sequence[Record], time: int) -> bool:
    """Return whether these records, read from the latest back, show that no earlier range covers the time.

    A range may begin long before the time. A run that was stamped ahead of its time lies inside a range only if its
    dispatcher crashed before the job advanced. One pass stamps at most `STAMPS_PER_PASS` runs. When more such runs lie
    before the time, the job advanced between two of them, so a range that began before all of them has ended.
    """
    return sum(_stamped_ahead(record) and record.nominal_at < time for record in records) > STAMPS_PER_PASS


def _stamped_ahead(record: Record) -> bool:
    """Return whether the run was stamped before its time.

    A run that catches up on a missed time, and a backfilled run, are stamped after their time and may lie inside a
    range.
    """
    return is_scheduled(record.run_id) and record.created_at <= record.nominal_at


def waits_long_at(run: Record, now: int) -> GateId | None:
    """Return the gate at which the run waits, if it has waited there for long enough to be seen in every index."""
    gate = gate_of_slot(run.slot) if run.status is Status.PENDING else None
    return gate if gate is not None and now - run.fire_at > PATIENCE_MS else None


def is_watched(state: GateState, now: int, *, is_key: bool) -> bool:
    """Return whether a tick looks at a gate in this state. The keys of a gate are visited when their turn comes."""
    return state.is_flagged and (is_key or (state.fire_at or 0) > now - PATIENCE_MS)


def _why_late(run: Record, now: int, unwatched: Collection[GateId]) -> str | None:
    """Say why a run is late, or return None.

    A live run moves at its fire time, which may be that of a retry, or at the end of its lease.
    """
    if run.status in TERMINAL:
        return None
    gate = gate_of_slot(run.slot) if run.status is Status.PENDING else None
    if gate is not None:
        return f"waits at {name_of(gate)}, at which no tick looks" if gate in unwatched else None
    moves_at = run.fire_at if run.lease_until is None else run.lease_until
    if now - moves_at <= PATIENCE_MS:
        return None
    return f"{run.status} for {(now - moves_at) // _MINUTE_MS} min after it was due to move"


def _last_of_all(job: Record, runs: dict[int, Record], times: Sequence[int]) -> int:
    """Return the last time that can have an outcome.

    A job that has made its `max_runs` has no time after the last run. When a client lowered `max_runs` below the number
    of runs, the job ends at its position.
    """
    last = times[-1] if times else 0
    limit = job.recurrence.max_runs if job.recurrence else None
    if job.status is Status.COMPLETED and limit is not None and (job.stamped or 0) >= limit:
        return min(last, max(runs, default=job.fire_at - 1))
    return last


def _latest(schedule: Schedule, after: int, until: int, most: int) -> list[int]:
    """Return the last `most` of the expected times.

    Schedules compute fire times forwards only, so this looks back in doubling steps.
    """
    span = most * 1000  # nothing fires more often than once a second
    while True:
        begin = max(after, until - span)
        times = expected_times(schedule, begin, until, _MOST_IN_WINDOW)
        if len(times) >= most or begin == after:
            return times[-most:]
        span *= 2
