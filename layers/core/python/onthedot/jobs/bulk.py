"""Act on many jobs, a bounded number in each call. A job that fails does not stop the others."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from onthedot.core import patience
from onthedot.core.errors import JobNotFound, OnthedotError, UnreadableRecord
from onthedot.core.ports import Deadline
from onthedot.core.records import Status
from onthedot.engine import Engine
from onthedot.jobs.change import pause_job, resume_job
from onthedot.jobs.list_jobs import JobQuery, list_jobs
from onthedot.jobs.run_extra import run_now
from onthedot.workflows.stop import cancel_whole, delete_whole

_LOG: Final = logging.getLogger(__name__)
STEP: Final = 100
"""The most jobs that one call acts on."""
COUNTED_AT_ONCE: Final = 500
COUNTED_PAGES: Final = 10
"""One call counts up to 5,000 jobs."""


BulkAction = Literal["pause", "resume", "cancel", "delete", "run"]
ACTS: Final[Mapping[BulkAction, Callable[[Engine, str, str, str | None], Any]]] = {
    "pause": pause_job,
    "resume": resume_job,
    "cancel": cancel_whole,
    "delete": lambda engine, tenant, job_id, _: delete_whole(engine, tenant, job_id),
    "run": lambda engine, tenant, job_id, _: run_now(engine, tenant, job_id),
}
"""What a call does to each job: by engine, tenant, id, and the name of the client's token."""


@dataclass(slots=True)
class BulkStep:
    """The result of one call."""

    matched: int = 0
    """Jobs that the call found."""
    done: int = 0
    failures: list[tuple[str, OnthedotError]] = field(default_factory=list)
    """Ids of jobs on which it did not act, and why."""
    cursor: str | None = None
    """Where the next call goes on. None: there are no more jobs."""


def act_on_jobs(
    engine: Engine, tenant: str, action: BulkAction, query: JobQuery, cursor: str | None, *, by: str | None
) -> BulkStep:
    """Raise Unavailable when the jobs cannot be read."""
    deadline = _deadline(engine)
    page = list_jobs(engine, tenant, query, STEP, cursor)
    step = BulkStep(cursor=page.cursor)
    for number, listed in enumerate(page.items, 1):
        _act(engine, tenant, action, listed.job.job_id, step=step, by=by)
        if number < len(page.items) and not deadline.allows(engine.clock.now()):
            step.cursor = listed.cursor
            return step
    for one in page.unreadable:
        _fail(step, one.run_id, UnreadableRecord(one))
    return step


def act_on_ids(
    engine: Engine, tenant: str, action: BulkAction, ids: Sequence[str], cursor: str | None, *, by: str | None
) -> BulkStep:
    # A cursor is the number of ids before it.
    deadline = _deadline(engine)
    step, first = BulkStep(), int(cursor or 0)
    for number, job_id in enumerate(ids[first : first + STEP], first + 1):
        _act(engine, tenant, action, job_id, step=step, by=by)
        is_last = number == len(ids)
        step.cursor = None if is_last else str(number)
        if not deadline.allows(engine.clock.now()):
            break
    return step


def count_jobs(engine: Engine, tenant: str, query: JobQuery, cursor: str | None) -> BulkStep:
    """Count as many as one call may look at."""
    deadline = Deadline.after(engine.clock.now(), patience.READ_MS)  # a page that began has a deadline of its own
    step = BulkStep(cursor=cursor)
    for _ in range(COUNTED_PAGES):
        page = list_jobs(engine, tenant, query, COUNTED_AT_ONCE, step.cursor)
        step.matched += len(page.items) + len(page.unreadable)
        step.cursor = page.cursor
        if page.cursor is None or not deadline.allows(engine.clock.now()):
            break
    return step


def count_ids(engine: Engine, tenant: str, ids: Sequence[str]) -> BulkStep:
    read = engine.store.get_many(ids, _deadline(engine))
    jobs = {
        run_id
        for run_id, job in read.found.items()
        if (job.tenant, job.run_id) == (tenant, job.job_id) and job.status is not Status.DELETED
    }
    known = jobs | {run_id for run_id, one in read.unreadable.items() if one.tenant == tenant}
    missing: Iterable[str] = (job_id for job_id in ids if job_id not in known)
    return BulkStep(matched=len(known), failures=[(job_id, JobNotFound(job_id)) for job_id in missing])


def _act(engine: Engine, tenant: str, action: BulkAction, job_id: str, *, step: BulkStep, by: str | None) -> None:
    try:
        ACTS[action](engine, tenant, job_id, by)
    except OnthedotError as error:
        _LOG.info("bulk_job_failed", extra={"job": job_id, "act": action, "error": str(error)})
        _fail(step, job_id, error)
        return
    step.matched += 1
    step.done += 1


def _fail(step: BulkStep, job_id: str, error: OnthedotError) -> None:
    step.matched += not isinstance(error, JobNotFound)
    step.failures.append((job_id, error))


def _deadline(engine: Engine) -> Deadline:
    return Deadline.after(engine.clock.now(), patience.REQUEST_MS)
