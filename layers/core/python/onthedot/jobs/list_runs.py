"""Read the runs of a job: a page of them, one by its id, the latest, the ended ones and the next."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from onthedot.core.errors import InvalidRequest, JobNotFound, Problem, UnreadableRecord
from onthedot.core.ids import is_stamped
from onthedot.core.ports import Page
from onthedot.core.records import SCHEDULED, STAMPING, TERMINAL, Kind, Record, Status
from onthedot.core.slots import horizon
from onthedot.engine import Engine
from onthedot.jobs.shown import coming_fire, next_stamped


def read_own(engine: Engine, tenant: str, run_id: str) -> Record | None:
    """Raise UnreadableRecord for a record of the tenant, and JobNotFound for that of another."""
    try:
        return engine.store.get(run_id)
    except UnreadableRecord as error:
        if error.record.tenant != tenant:
            raise JobNotFound(run_id) from None
        raise


def read_job(engine: Engine, tenant: str, job_id: str) -> Record:
    """Raise JobNotFound, also for the id of a stamped run, and UnreadableRecord."""
    run = None if is_stamped(job_id) else read_own(engine, tenant, job_id)
    if run is None or run.tenant != tenant or run.status is Status.DELETED:
        raise JobNotFound(job_id)
    return run


START: Final = ""
"""The cursor after a first page with only a one-off job's own run: the next page begins with the stamped runs."""
FEW_RUNS: Final = 20
"""Runs of the first page."""
_PAGES: Final = (FEW_RUNS, *(100,) * 5)
"""Sizes of the pages to read. The first is enough for most jobs. Together they reach past the runs that are stamped
ahead, even with one in each second."""


SHOWN_OUTCOMES: Final = 12
CLOCKS_DIFFER_MS: Final = 2_000
"""A run that another process made just now may have a time that is to come by the clock of this one."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The next fire time of a job, its latest run and the latest runs that ended."""

    next_at: int | None
    latest: Record | None
    """The latest run that was started, or that was cancelled or failed without a start."""
    ended: Sequence[Record] = ()
    """The latest runs and skipped ranges that ended, the latest first."""
    finished_at: int | None = None
    """When the job ended. A recurring job ends with its last run."""


def read_run(engine: Engine, tenant: str, run_id: str) -> Record:
    """Raise JobNotFound, also for a job that stamps runs, and UnreadableRecord."""
    run = read_own(engine, tenant, run_id)
    if run is None or run.run_id != run_id or run.tenant != tenant:
        raise JobNotFound(run_id)
    if run.status is Status.DELETED or run.kind in STAMPING:
        raise JobNotFound(run_id)
    return run


def list_runs(engine: Engine, job: Record, limit: int, cursor: str | None) -> Page[Record]:
    # The first page of a one-off job has its own run along with those made on demand.
    if job.kind in STAMPING or cursor is not None:
        return _stamped(engine, job, limit, cursor or None)
    others = _stamped(engine, job, max(limit - 1, 1), None)
    if limit == 1:
        return Page([job], START if others.items else None)
    runs = sorted([job, *others.items], key=lambda run: run.fire_time, reverse=True)
    return Page(runs, others.cursor, others.unreadable)


def read_outlook(engine: Engine, job: Record) -> Outlook:
    # Runs are read only of jobs that stamp them.
    now = engine.clock.now()
    next_at = coming_fire(job, now)
    if job.kind not in STAMPING:
        return Outlook(next_at, job, ended_of([job]), job.finished_at)
    seen: list[Record] = []
    latest: Record | None = None
    for run in recent_runs(engine, job, now + CLOCKS_DIFFER_MS):
        seen.append(run)
        is_run = run.kind is Kind.STAMPED and run.status is not Status.SKIPPED
        if latest is None and is_run and not _waits_for_first_start(run):
            latest = run
        if latest is not None and len(seen) >= FEW_RUNS:
            break
    return Outlook(_last_ones(job, seen, next_at, now), latest, ended_of(seen), _end_of(job, seen, now))


def read_ended(engine: Engine, job: Record) -> Sequence[Record]:
    """Return the latest runs and skipped ranges that ended, the latest first. This reads one page."""
    if job.kind not in STAMPING:
        return ended_of([job])
    until = engine.clock.now() + CLOCKS_DIFFER_MS
    return ended_of(engine.store.runs_of(job.job_id, FEW_RUNS, until=until).items)


def ended_of(runs: Iterable[Record]) -> Sequence[Record]:
    ended = (run for run in runs if run.status in TERMINAL and run.status is not Status.DELETED)
    return tuple(islice(ended, SHOWN_OUTCOMES))


def next_fire_of(engine: Engine, job: Record) -> int | None:
    # Runs are read only when all of them are stamped, because then the job's record does not say.
    now = engine.clock.now()
    next_at = coming_fire(job, now)
    if next_at is not None or job.status is not Status.COMPLETED or job.recurrence is None:
        return next_at
    jitter = job.recurrence.schedule.jitter_seconds * 1000
    if now >= horizon(job.finished_at or 0, engine.deployment.lookahead) + jitter:
        return None
    return read_outlook(engine, job).next_at


def _waits_for_first_start(run: Record) -> bool:
    return run.status in SCHEDULED and not run.attempt


def _last_ones(job: Record, seen: Sequence[Record], next_at: int | None, now: int) -> int | None:
    # A job becomes COMPLETED when its last run is stamped. Until that run fires, its time is the next one.
    if job.status is not Status.COMPLETED:
        return next_at
    ahead = next_stamped(job, now)
    waiting = [run.due_at for run in seen if _waits_for_first_start(run)]
    return min([*waiting, *([] if ahead is None else [ahead])], default=next_at)


def _end_of(job: Record, seen: Sequence[Record], now: int) -> int | None:
    """Return when the last run of the schedule ended. A job that a client ended has ended then."""
    if job.status is not Status.COMPLETED:
        return job.finished_at
    own = [run for run in seen if run.trigger is None]
    if next_stamped(job, now) is not None or any(run.status not in TERMINAL for run in own):
        return None
    return max((run.finished_at for run in own if run.finished_at is not None), default=job.finished_at)


def recent_runs(engine: Engine, job: Record, until: int | None = None) -> Iterator[Record]:
    """Yield the latest runs first, as far back as the pages reach."""
    cursor: str | None = None
    for size in _PAGES:
        page = engine.store.runs_of(job.job_id, size, cursor, until=until)
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
