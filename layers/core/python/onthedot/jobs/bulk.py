"""Act on many jobs, a bounded number in each call. A job that fails stops no other."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

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
"""Most jobs that one call acts on."""
COUNTED_AT_ONCE: Final = 500
COUNTED_PAGES: Final = 10
"""One call counts up to 5,000 jobs."""


class BulkAction(StrEnum):
    """The act on each job."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    DELETE = "delete"
    RUN = "run"


_ACTS: Final[Mapping[BulkAction, Callable[[Engine, str, str, str | None], Any]]] = {
    BulkAction.PAUSE: pause_job,
    BulkAction.RESUME: resume_job,
    BulkAction.CANCEL: cancel_whole,
    BulkAction.DELETE: lambda engine, tenant, job_id, _: delete_whole(engine, tenant, job_id),
    BulkAction.RUN: lambda engine, tenant, job_id, _: run_now(engine, tenant, job_id),
}


@dataclass(frozen=True, slots=True)
class BulkActor:
    """The act on each job, the tenant of the jobs, and the client."""

    action: BulkAction
    tenant: str
    by: str | None = None
    """The name of the client's token."""


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


def act_on_jobs(engine: Engine, actor: BulkActor, query: JobQuery, cursor: str | None) -> BulkStep:
    """Act on the jobs that pass the filters, from the cursor on. Raise Unavailable when they cannot be read."""
    deadline = _deadline(engine)
    page = list_jobs(engine, actor.tenant, query, STEP, cursor)
    step = BulkStep(cursor=page.cursor)
    for number, listed in enumerate(page.items, 1):
        _act(engine, actor, listed.job.job_id, step)
        if number < len(page.items) and not deadline.allows(engine.clock.now()):
            step.cursor = listed.cursor
            return step
    for one in page.unreadable:
        _fail(step, one.run_id, UnreadableRecord(one))
    return step


def act_on_ids(engine: Engine, actor: BulkActor, ids: Sequence[str], cursor: str | None) -> BulkStep:
    """Act on the jobs with these ids, from the cursor on. A cursor is the number of ids before it."""
    deadline = _deadline(engine)
    step, first = BulkStep(), int(cursor or 0)
    for number, job_id in enumerate(ids[first : first + STEP], first + 1):
        _act(engine, actor, job_id, step)
        is_last = number == len(ids)
        step.cursor = None if is_last else str(number)
        if not deadline.allows(engine.clock.now()):
            break
    return step


def count_jobs(engine: Engine, tenant: str, query: JobQuery, cursor: str | None) -> BulkStep:
    """Count the jobs that pass the filters, from the cursor on, as many as one call may look at."""
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


def _act(engine: Engine, actor: BulkActor, job_id: str, step: BulkStep) -> None:
    try:
        _ACTS[actor.action](engine, actor.tenant, job_id, actor.by)
    except OnthedotError as error:
        _LOG.info("bulk_job_failed", extra={"job": job_id, "act": actor.action.value, "error": str(error)})
        _fail(step, job_id, error)
        return
    step.matched += 1
    step.done += 1


def _fail(step: BulkStep, job_id: str, error: OnthedotError) -> None:
    step.matched += not isinstance(error, JobNotFound)
    step.failures.append((job_id, error))


def _deadline(engine: Engine) -> Deadline:
    return Deadline.after(engine.clock.now(), patience.REQUEST_MS)
