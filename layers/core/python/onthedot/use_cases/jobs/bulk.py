"""Act on many jobs, a bounded number in each call. A job that fails stops no other."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from onthedot.domain.errors import JobNotFound, OnthedotError, UnreadableRecord
from onthedot.domain.runs.records import Status
from onthedot.ports import Deadline, Engine
from onthedot.use_cases import patience
from onthedot.use_cases.jobs.change_job import pause_job, resume_job
from onthedot.use_cases.jobs.list_jobs import JobQuery, list_jobs
from onthedot.use_cases.jobs.run_extra import run_now
from onthedot.use_cases.workflows.stop_workflow import cancel_whole, delete_whole

_LOG: Final = logging.getLogger(__name__)
STEP: Final = 100
"""Most jobs that one call acts on."""


class BulkAction(StrEnum):
    """The act on each job."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    DELETE = "delete"
    RUN = "run"


_ACTS: Final[Mapping[BulkAction, Callable[[Engine, str, str], Any]]] = {
    BulkAction.PAUSE: pause_job,
    BulkAction.RESUME: resume_job,
    BulkAction.CANCEL: cancel_whole,
    BulkAction.DELETE: delete_whole,
    BulkAction.RUN: run_now,
}


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


def act_on_jobs(engine: Engine, tenant: str, action: BulkAction, query: JobQuery, cursor: str | None) -> BulkStep:
    """Act on the jobs that pass the filters, from the cursor on. Raise Unavailable when they cannot be read."""
    deadline = _deadline(engine)
    page = list_jobs(engine, tenant, query, STEP, cursor)
    step = BulkStep(cursor=page.cursor)
    for number, listed in enumerate(page.items, 1):
        _act(engine, tenant, action, listed.job.job_id, step)
        if number < len(page.items) and not deadline.allows(engine.clock.now()):
            step.cursor = listed.cursor
            return step
    for one in page.unreadable:
        _fail(step, one.run_id, UnreadableRecord(one))
    return step


def act_on_ids(engine: Engine, tenant: str, action: BulkAction, ids: Sequence[str], cursor: str | None) -> BulkStep:
    """Act on the jobs with these ids, from the cursor on. A cursor is the number of ids before it."""
    deadline = _deadline(engine)
    step, first = BulkStep(), int(cursor or 0)
    for number, job_id in enumerate(ids[first : first + STEP], first + 1):
        _act(engine, tenant, action, job_id, step)
        is_last = number == len(ids)
        step.cursor = None if is_last else str(number)
        if not deadline.allows(engine.clock.now()):
            break
    return step


def count_jobs(engine: Engine, tenant: str, query: JobQuery, cursor: str | None) -> BulkStep:
    """Count the jobs that pass the filters, from the cursor on, as many as one call may look at."""
    page = list_jobs(engine, tenant, query, STEP, cursor)
    return BulkStep(matched=len(page.items) + len(page.unreadable), cursor=page.cursor)


def count_ids(engine: Engine, tenant: str, ids: Sequence[str]) -> BulkStep:
    """Count the ids that are jobs of the tenant. The others are failures."""
    read = engine.store.get_many(ids, _deadline(engine))
    jobs = {
        run_id
        for run_id, job in read.found.items()
        if (job.tenant, job.run_id) == (tenant, job.job_id) and job.status is not Status.DELETED
    }
    known = jobs | {run_id for run_id, one in read.unreadable.items() if one.tenant == tenant}
    missing: Iterable[str] = (job_id for job_id in ids if job_id not in known)
    return BulkStep(matched=len(known), failures=[(job_id, JobNotFound(job_id)) for job_id in missing])


def _act(engine: Engine, tenant: str, action: BulkAction, job_id: str, step: BulkStep) -> None:
    try:
        _ACTS[action](engine, tenant, job_id)
    except OnthedotError as error:
        _LOG.info("bulk_job_failed", extra={"job": job_id, "act": action.value, "error": str(error)})
        _fail(step, job_id, error)
        return
    step.matched += 1
    step.done += 1


def _fail(step: BulkStep, job_id: str, error: OnthedotError) -> None:
    step.matched += not isinstance(error, JobNotFound)
    step.failures.append((job_id, error))


def _deadline(engine: Engine) -> Deadline:
    return Deadline.after(engine.clock.now(), patience.REQUEST_MS)
