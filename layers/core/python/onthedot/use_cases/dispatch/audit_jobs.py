"""Audit recurring jobs: compute again the fire times that they should have had, and compare them with the stored runs.

The audit only reads. It takes the jobs from the slots around the present and not from the whole table, so its cost
depends on the jobs that are due: a job is audited in the hour before its next fire time.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from onthedot.domain.errors import Unavailable, Unreadable
from onthedot.domain.gates.names import GateId
from onthedot.domain.reports.audit import (
    Finding,
    Report,
    audit,
    audited_times,
    is_watched,
    no_range_reaches,
    waits_long_at,
    window,
)
from onthedot.domain.runs.records import Kind, Record, Status
from onthedot.domain.runs.slots import SlotKind, bucket_of, slot_name
from onthedot.ports import Deadline, Engine
from onthedot.use_cases import patience
from onthedot.use_cases.dispatch.set_aside import read_aside
from onthedot.use_cases.dispatch.slot_entries import read_slot_pages
from onthedot.use_cases.shards.read_ticks import late_ticks

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
        # A flag is taken away when no run waits any more. Then this one has left the list since it was read.
        deadline = Deadline.after(engine.clock.now(), patience.READ_MS)
        current = engine.store.get_many([run.run_id], deadline).found.get(run.run_id)
        if current is not None and current.slot == run.slot:
            found.add(gate)
    return found


def audit_recent(engine: Engine, job: Record) -> Report:
    """Audit the job's recent times."""
    return audit_job(engine, job, *window(job, engine.clock.now(), engine.deployment.history_days))


def log_report(job: Record, report: Report) -> None:
    """Log the findings of a report, with a few of their times: a broken schedule has many."""
    for kind, found, level in (("hole", report.holes, logging.ERROR), ("late", report.late, logging.WARNING)):
        if found:
            extra = {"job": job.job_id, "tenant": job.tenant, "count": len(found), "times": _some(found)}
            _LOG.log(level, kind, extra=extra)


def log_unreadable(record: Unreadable) -> None:
    """Log a record that cannot be read, or that was set aside."""
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
        """Count and log ticks that are late."""
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
        """Report the records of a shard that dispatchers have set aside."""
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
        """Audit a job. One that cannot be audited hides the holes of no other."""
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
