"""Audit recurring jobs: recompute the fire times that they should have had, compare them with what is recorded.

Reads only. Which jobs are audited comes from the slots around the present and not from the table, so the cost depends
on what is due: a job is audited in the hour before its next fire time.
"""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.reports.audit import Finding, Report, audit, audited_times, no_range_reaches, window
from onthedot.domain.runs.records import Kind, Record, Status
from onthedot.domain.runs.slots import SlotKind, bucket_of, slot_name
from onthedot.ports import Deadline, Engine
from onthedot.use_cases.dispatch.slot_reader import read_entries

_LOG: Final = logging.getLogger(__name__)
BUCKETS_BEHIND: Final = 60
"""A job that stands in a slot of the past hour was left behind: its times are late, and nobody else may look."""
BUCKETS_AHEAD: Final = 60
JOBS_AT_ONCE: Final = 100
RECORDS_AT_ONCE: Final = 500
MOST_PAGES: Final = 20
TIMES_IN_LOG: Final = 10

Tell = Callable[[Record, Report], None]


def audit_job(engine: Engine, job: Record, after: int, until: int) -> Report:
    """The latest times with `after < time < until` of a job that was read before this call."""
    now = engine.clock.now()
    times = audited_times(job, after, until)
    report = Report()
    records: list[Record] = []
    cursor: str | None = None
    # Most jobs fire seldom: what is needed of them is less than a page.
    limit = min(2 * len(times) + 10, RECORDS_AT_ONCE)
    for _ in range(MOST_PAGES if times else 0):
        page = engine.store.runs_of(job.job_id, limit, cursor)
        records += page.items
        cursor, limit = page.cursor, RECORDS_AT_ONCE
        report = audit(job, times, records, now)
        if cursor is None or not report.holes or no_range_reaches(records, report.holes[0].time):
            return report
    return replace(report, holes=(), unread=len(report.holes))


def audit_recent(engine: Engine, job: Record) -> Report:
    """The job's recent times."""
    return audit_job(engine, job, *window(job, engine.clock.now(), engine.deployment.history_days))


def tell_log(job: Record, report: Report) -> None:
    """What was found, if anything: a few of the times, for a broken schedule has many."""
    for what, found, level in (("hole", report.holes, logging.ERROR), ("late", report.late, logging.WARNING)):
        if found:
            extra = {"job": job.job_id, "tenant": job.tenant, "count": len(found), "times": _some(found)}
            _LOG.log(level, what, extra=extra)


def audit_due_jobs(engine: Engine, shards: Sequence[int], deadline: Deadline, tell: Tell = tell_log) -> Counter[str]:
    """Audit the jobs that stand in the slots around the present; `tell` hears of each.

    Counts jobs, expected, holes, late, unread; and slots that were out_of_time or unavailable.
    """
    now = engine.clock.now()
    around = range(bucket_of(now) - BUCKETS_BEHIND, bucket_of(now) + BUCKETS_AHEAD + 1)
    slots = [slot_name(SlotKind.FIRE, shard, bucket) for shard in _in_turn(shards, now) for bucket in around]
    work = _Round(engine, deadline, tell)
    for done, slot in enumerate(slots):
        try:
            whole = work.audit_slot(slot)
        except Unavailable as error:
            # One throttled slot must not hide what is in the others.
            work.counts["unavailable"] += 1
            _LOG.warning("slot_unavailable", extra={"slot": slot, "error": str(error)})
            continue
        if not whole:
            work.counts["out_of_time"] += len(slots) - done
            break
    return work.counts


@dataclass(slots=True)
class _Round:
    engine: Engine
    deadline: Deadline
    tell: Tell
    seen: set[str] = field(default_factory=set)
    """A job that moves on while the slots are read is met again."""
    counts: Counter[str] = field(default_factory=lambda: Counter(jobs=0, expected=0, holes=0, late=0))

    def audit_slot(self, slot: str) -> bool:
        """False if time ran out."""
        if self._out_of_time():
            return False
        for entries in read_entries(self.engine, slot, JOBS_AT_ONCE):
            met = {entry.run_id for entry in entries if entry.kind is Kind.RECURRING} - self.seen
            self.seen |= met
            jobs = self.engine.store.get_many(sorted(met), self.deadline) if met else {}
            for job in jobs.values():
                if self._out_of_time():
                    return False
                if job.kind is Kind.RECURRING and job.status is Status.ACTIVE:
                    self._audit(job)
        return True

    def _audit(self, job: Record) -> None:
        report = audit_recent(self.engine, job)
        self.counts.update(
            jobs=1,
            expected=report.expected,
            holes=len(report.holes),
            late=len(report.late),
            unread=report.unread,
        )
        self.tell(job, report)

    def _out_of_time(self) -> bool:
        return not self.deadline.allows(self.engine.clock.now())


def _in_turn(shards: Sequence[int], now: int) -> list[int]:
    """Each hour another shard is the first, so that where time is short no shard is always the last."""
    first = now // 3_600_000 % max(1, len(shards))
    return [*shards[first:], *shards[:first]]


def _some(found: Sequence[Finding]) -> list[int]:
    return [finding.time for finding in found[:TIMES_IN_LOG]]
