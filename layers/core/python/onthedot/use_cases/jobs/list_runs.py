"""Read the runs of a job: a page of them, one by its id, the latest and the next."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.domain.errors import InvalidRequest, JobNotFound, Problem
from onthedot.domain.runs.coming_fire import coming_fire
from onthedot.domain.runs.records import SCHEDULED, STAMPING, Kind, Record, Status
from onthedot.domain.runs.slots import horizon
from onthedot.ports import Engine, Page
from onthedot.use_cases.jobs.read_jobs import read_own

START: Final = ""
"""The cursor after a first page with only a one-off job's own run: the next page begins with the stamped runs."""
_PAGES: Final = (20, *(100,) * 5)
"""Sizes of the pages to read. The first is enough for most jobs. Together they reach past the runs that are stamped
ahead, even with one in each second."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The next fire time and the latest run of a job."""

    next_at: int | None
    latest: Record | None
    """The latest run that was started, or that ended without a start."""


def read_run(engine: Engine, tenant: str, run_id: str) -> Record:
    """Return a run, or a range of skipped times. A job that stamps runs is neither.

    Raise JobNotFound and UnreadableRecord.
    """
    run = read_own(engine, tenant, run_id)
    if run is None or run.run_id != run_id or run.tenant != tenant:
        raise JobNotFound(run_id)
    if run.status is Status.DELETED or run.kind in STAMPING:
        raise JobNotFound(run_id)
    return run


def list_runs(engine: Engine, job: Record, limit: int, cursor: str | None) -> Page[Record]:
    """Return a page of the job's runs. The first page of a one-off job has its own run beside those made on demand."""
    if job.kind in STAMPING or cursor is not None:
        return _stamped(engine, job, limit, cursor or None)
    others = _stamped(engine, job, max(limit - 1, 1), None)
    if limit == 1:
        return Page([job], START if others.items else None)
    runs = sorted([job, *others.items], key=lambda run: run.nominal_at, reverse=True)
    return Page(runs, others.cursor, others.unreadable)


def read_outlook(engine: Engine, job: Record) -> Outlook:
    """Return when the job fires next and its latest run. Runs are read only of jobs that stamp them."""
    now = engine.clock.now()
    next_at = coming_fire(job, now)
    if job.kind not in STAMPING:
        return Outlook(next_at, job)
    waiting: list[int] = []
    for run in recent_runs(engine, job):
        if run.status in SCHEDULED and not run.attempt:
            waiting.append(run.fire_at)
        elif run.kind is Kind.STAMPED and run.status is not Status.SKIPPED:
            return Outlook(_last_ones(job, waiting, next_at), run)
    return Outlook(_last_ones(job, waiting, next_at), None)


def next_fire_of(engine: Engine, job: Record) -> int | None:
    """Return when the job fires next.

    Its runs are read only when all of them are stamped, because then its record does not say.
    """
    now = engine.clock.now()
    next_at = coming_fire(job, now)
    if next_at is not None or job.status is not Status.COMPLETED or job.recurrence is None:
        return next_at
    jitter = job.recurrence.schedule.jitter_seconds * 1000
    if now >= horizon(job.finished_at or 0, engine.deployment.lookahead) + jitter:
        return None
    return read_outlook(engine, job).next_at


def _last_ones(job: Record, waiting: Sequence[int], next_at: int | None) -> int | None:
    """Return the next fire time.

    A job becomes COMPLETED when its last run is stamped. Until that run fires, the next time is the earliest of the
    waiting runs.
    """
    return min(waiting) if waiting and job.status is Status.COMPLETED else next_at


def recent_runs(engine: Engine, job: Record) -> Iterator[Record]:
    """Yield the job's runs, the latest first, as far back as the pages reach."""
    cursor: str | None = None
    for size in _PAGES:
        page = engine.store.runs_of(job.job_id, size, cursor)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


def _stamped(engine: Engine, job: Record, limit: int, cursor: str | None) -> Page[Record]:
    page = engine.store.runs_of(job.job_id, limit, cursor)
    # A cursor that leads to another job's runs was not made by this API.
    if any(run.job_id != job.job_id or run.tenant != job.tenant for run in page.items):
        raise InvalidRequest(Problem("cursor", "does not belong to this job; start without it"))
    return Page([run for run in page.items if run.status is not Status.DELETED], page.cursor, page.unreadable)
