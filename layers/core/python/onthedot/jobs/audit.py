"""Check that every fire time that a recurring job should have had has one recorded outcome."""

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from onthedot.core import patience
from onthedot.core.engine import Core
from onthedot.core.errors import Unavailable, Unreadable
from onthedot.core.gate_names import GateId, gate_of_slot, name_of
from onthedot.core.ids import is_scheduled
from onthedot.core.lifecycle import TOMBSTONE_DAYS
from onthedot.core.ports import Deadline
from onthedot.core.records import TERMINAL, Kind, Record, Status
from onthedot.core.send import read_slot_pages
from onthedot.core.set_aside import READ_AT_ONCE
from onthedot.core.slots import SlotKind, aside_slot, bucket_of, slot_name
from onthedot.core.stamping import STAMPS_PER_PASS
from onthedot.engine import Engine
from onthedot.gates.state import GateState
from onthedot.jobs.given_up import expected_times, settled_until
from onthedot.schedules.schedule import Schedule
from onthedot.statistics.health import late_ticks

_MINUTE_MS: Final = 60_000
_DAY_MS: Final = 86_400_000
SETTLING_MS: Final = 10 * _MINUTE_MS
"""Times nearer to the present than this are left for the next audit, because most of their runs have not ended."""
WINDOW_MS: Final = 25 * 60 * _MINUTE_MS
"""The length of the window that one audit checks."""
PATIENCE_MS: Final = 15 * _MINUTE_MS
"""A run is late when it has waited longer than this after the moment when it was due to move."""
MOST_TIMES: Final = 200
"""The most times of one job in one audit. When there are more, the latest are checked."""
_MOST_IN_WINDOW: Final = 20_000
"""The most times in a window. Cron fires at most once a minute, so this is almost two weeks of it."""
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

    When no time was due on that day, as with a weekly job, the window goes back to the last time before it, if records
    are kept that long.
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

    Times before the current schedule began are left out, because the earlier schedule is not stored. A paused job has
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
    runs = {record.fire_time: record for record in records if is_scheduled(record.run_id)}
    ranges = [(r.fire_time, r.skipped_until or r.fire_time) for r in records if r.kind is Kind.SKIPPED_RANGE]
    expected = [time for time in times if time <= _last_of_all(job, runs, times)]
    holes: list[Finding] = []
    late: list[Finding] = []
    for time in expected:
        if time in runs:
            why = _why_late(runs[time], now, unwatched)
        elif any(first <= time <= last for first, last in ranges):
            why = None
        elif job.status is Status.ACTIVE and time > settled_until(job):
            why = "not stamped yet" if time >= job.due_at and now - time > PATIENCE_MS else None
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
    return sum(_stamped_ahead(record) and record.fire_time < time for record in records) > STAMPS_PER_PASS


def _stamped_ahead(record: Record) -> bool:
    # A run that catches up, or is backfilled, is stamped after its time and may lie inside a range.
    return is_scheduled(record.run_id) and record.created_at <= record.fire_time


def waits_long_at(run: Record, now: int) -> GateId | None:
    """Return the gate at which the run has waited for long enough to be seen in every index."""
    gate = gate_of_slot(run.slot) if run.status is Status.PENDING else None
    return gate if gate is not None and now - run.due_at > PATIENCE_MS else None


def is_watched(state: GateState, now: int, *, is_key: bool) -> bool:
    # The keys of a gate are visited when their turn comes.
    return state.is_flagged and (is_key or (state.due_at or 0) > now - PATIENCE_MS)


def _why_late(run: Record, now: int, unwatched: Collection[GateId]) -> str | None:
    # A live run moves at its fire time, which may be that of a retry, or at the end of its lease.
    if run.status in TERMINAL:
        return None
    gate = gate_of_slot(run.slot) if run.status is Status.PENDING else None
    if gate is not None:
        return f"waits at {name_of(gate)}, at which no tick looks" if gate in unwatched else None
    moves_at = run.due_at if run.lease_until is None else run.lease_until
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
        return min(last, max(runs, default=job.due_at - 1))
    return last


def _latest(schedule: Schedule, after: int, until: int, most: int) -> list[int]:
    # Schedules compute fire times forwards only, so this looks back in doubling steps.
    span = most * 1000  # nothing fires more often than once a second
    while True:
        begin = max(after, until - span)
        times = expected_times(schedule, begin, until, _MOST_IN_WINDOW)
        if len(times) >= most or begin == after:
            return times[-most:]
        span *= 2


_LOG: Final = logging.getLogger(__name__)
BUCKETS_BEHIND: Final = 60
"""A job in a slot of the past hour was left behind: its times are late, and maybe only the audit finds it."""
BUCKETS_AHEAD: Final = 60
JOBS_AT_ONCE: Final = 100
RECORDS_AT_ONCE: Final = 500
MOST_PAGES: Final = 20
TIMES_IN_LOG: Final = 10

OnReport = Callable[[Record, Report], None]
"""Receives each audited job with its report."""
OnUnreadable = Callable[[Unreadable], None]
"""Receives each record that cannot be read, or that was set aside."""


def audit_job(engine: Engine, job: Record, after: int, until: int) -> Report:
    """Audit the latest times with `after < time < until` of a job that was read before this call."""
    now = engine.clock.now()
    times = audited_times(job, after, until)
    report = Report()
    records: list[Record] = []
    unwatched: set[GateId] = set()
    cursor: str | None = None
    # Most jobs fire seldom, and need less than a page.
    limit = min(2 * len(times) + 10, RECORDS_AT_ONCE)
    for _ in range(MOST_PAGES if times else 0):
        page = engine.store.runs_of(job.job_id, limit, cursor)
        records += page.items
        cursor, limit = page.cursor, RECORDS_AT_ONCE
        unwatched |= _unwatched(engine, page.items, now)
        report = audit(job, times, records, now, unwatched)
        if cursor is None or not report.holes or no_range_reaches(records, report.holes[0].time):
            return report
    return replace(report, holes=(), unread=len(report.holes))


def _unwatched(engine: Engine, runs: Sequence[Record], now: int) -> set[GateId]:
    """Return the gates at which some of these runs wait although no tick looks at them."""
    found: set[GateId] = set()
    watched: set[GateId] = set()
    for run in runs:
        gate = waits_long_at(run, now)
        if gate is None or gate in found | watched:
            continue
        if all(is_watched(engine.gates.read(one), now, is_key=one.is_key) for one in {gate, gate.base}):
            watched.add(gate)
            continue
        # A flag is taken away when no run is waiting. Then this one has left the list since it was read.
        deadline = Deadline.after(engine.clock.now(), patience.READ_MS)
        current = engine.store.get_many([run.run_id], deadline).found.get(run.run_id)
        if current is not None and current.slot == run.slot:
            found.add(gate)
    return found


def audit_recent(engine: Engine, job: Record) -> Report:
    return audit_job(engine, job, *window(job, engine.clock.now(), engine.deployment.history_days))


def log_report(job: Record, report: Report) -> None:
    # A broken schedule has many findings, so the log has a few of their times.
    for kind, found, level in (("hole", report.holes, logging.ERROR), ("late", report.late, logging.WARNING)):
        if found:
            extra = {"job": job.job_id, "tenant": job.tenant, "count": len(found), "times": _some(found)}
            _LOG.log(level, kind, extra=extra)


def log_unreadable(record: Unreadable) -> None:
    _LOG.error("unreadable", extra={"run": record.run_id, "tenant": record.tenant, "why": record.why})


def audit_due_jobs(
    engine: Engine,
    shards: Sequence[int],
    deadline: Deadline,
    on_report: OnReport = log_report,
    on_unreadable: OnUnreadable = log_unreadable,
) -> Counter[str]:
    """Audit the jobs in the slots around the present, and give each report to `on_report`.

    Records that cannot be read or were set aside go to `on_unreadable`. Return the counts of jobs, of expected, missing
    (holes), late and unread times, of unreadable records, and of slots that were out_of_time or unavailable. With
    `ticks_late` the scheduler itself is late.
    """
    now = engine.clock.now()
    around = range(bucket_of(now) - BUCKETS_BEHIND, bucket_of(now) + BUCKETS_AHEAD + 1)
    slots = [slot_name(SlotKind.FIRE, shard, bucket) for shard in _in_turn(shards, now) for bucket in around]
    work = _Round(engine, deadline, on_report, on_unreadable)
    work.report_ticks()
    for shard in shards:
        work.report_aside(shard)
    for done, slot in enumerate(slots):
        try:
            whole = work.audit_slot(slot)
        except Unavailable as error:
            # One slot that cannot be read must not hide the holes of the others.
            work.counts["unavailable"] += 1
            _LOG.warning("slot_unavailable", extra={"slot": slot, "error": str(error)})
            continue
        if not whole:
            work.counts["out_of_time"] += len(slots) - done
            break
    return work.counts


@dataclass(slots=True)
class _Round:
    """An audit of many slots while it is under way."""

    engine: Engine
    deadline: Deadline
    on_report: OnReport
    on_unreadable: OnUnreadable
    seen: set[str] = field(default_factory=set)
    """Ids of audited jobs. A job that moves to another slot meanwhile is found again there."""
    counts: Counter[str] = field(default_factory=lambda: Counter(jobs=0, expected=0, holes=0, late=0))

    def audit_slot(self, slot: str) -> bool:
        """Audit the jobs of a slot. Return False if time ran out."""
        if self._out_of_time():
            return False
        for page in read_slot_pages(self.engine, slot, JOBS_AT_ONCE):
            self._report(page.unreadable)
            new = {entry.run_id for entry in page.items if entry.kind is Kind.RECURRING} - self.seen
            self.seen |= new
            read = self.engine.store.get_many(sorted(new), self.deadline)
            self._report(read.unreadable.values())
            for job in read.found.values():
                if self._out_of_time():
                    return False
                if job.kind is Kind.RECURRING and job.status is Status.ACTIVE:
                    self._audit_alone(job)
        return True

    def report_ticks(self) -> None:
        try:
            late = late_ticks(self.engine)
        except Unavailable as error:
            self.counts["unavailable"] += 1
            _LOG.warning("ticks_unavailable", extra={"error": str(error)})
            return
        if late is not None:
            self.counts["ticks_late"] += 1
            _LOG.error("ticks_late", extra={"why": late})

    def report_aside(self, shard: int) -> None:
        try:
            self._report(read_aside(self.engine, shard, self.deadline))
        except Unavailable as error:
            self.counts["unavailable"] += 1
            _LOG.warning("aside_unavailable", extra={"shard": shard, "error": str(error)})

    def _report(self, found: Iterable[Unreadable]) -> None:
        for one in found:
            self.counts["unreadable"] += 1
            self.on_unreadable(one)

    def _audit_alone(self, job: Record) -> None:
        """Audit a job. One that cannot be audited does not hide the holes of the others."""
        try:
            self._audit(job)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 - whatever is wrong with this job, the others are audited
            _LOG.exception("not_audited", extra={"job": job.job_id})
            self._report([Unreadable(job.run_id, f"the audit failed: {type(error).__name__}: {error}", job.tenant)])

    def _audit(self, job: Record) -> None:
        report = audit_recent(self.engine, job)
        self.counts.update(
            jobs=1,
            expected=report.expected,
            holes=len(report.holes),
            late=len(report.late),
            unread=report.unread,
        )
        self.on_report(job, report)

    def _out_of_time(self) -> bool:
        return not self.deadline.allows(self.engine.clock.now())


def _in_turn(shards: Sequence[int], now: int) -> list[int]:
    """Begin each hour with another shard, so that no shard is always the last when time is short."""
    first = now // 3_600_000 % max(1, len(shards))
    return [*shards[first:], *shards[:first]]


def _some(found: Sequence[Finding]) -> list[int]:
    return [finding.time for finding in found[:TIMES_IN_LOG]]


def read_aside(engine: Core, shard: int, deadline: Deadline) -> Iterator[Unreadable]:
    """Yield the records of a shard that are set aside, each with its fault, until the deadline."""
    slot = aside_slot(shard)
    for page in read_slot_pages(engine, slot, READ_AT_ONCE):
        if not deadline.allows(engine.clock.now()):
            return
        yield from page.unreadable
        read = engine.store.get_many([entry.run_id for entry in page.items], deadline)
        yield from read.unreadable.values()
        yield from (_facts(run) for run in read.found.values() if run.slot == slot)


def _facts(run: Record) -> Unreadable:
    why = run.aside_why or "it can be read now"
    return Unreadable(run.run_id, why, run.tenant, run.kind, run.status, run.slot, run.aside_since)
