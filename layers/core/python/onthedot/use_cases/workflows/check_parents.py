"""Check the parents of a new job: each must be a job of its tenant that will end, or has ended."""

from collections.abc import Sequence
from typing import Final

from onthedot.domain.errors import InvalidRequest, Problem, Unavailable
from onthedot.domain.ids import is_stamped
from onthedot.domain.runs.records import Kind, Record, Status
from onthedot.ports import Deadline, Engine
from onthedot.use_cases import patience

FIELD: Final = "dependencies"


def check_parents(engine: Engine, tenant: str, job_id: str, parents: Sequence[str]) -> None:
    """Raise InvalidRequest that names each parent for which the job cannot wait, and Unavailable.

    A job exists before its children, so the only possible cycle is a job that waits for itself.
    """
    if not parents:
        return
    deadline = Deadline.after(engine.clock.now(), patience.READ_MS)
    read = engine.store.get_many(list(dict.fromkeys(parents)), deadline)
    if read.unread:
        raise Unavailable("the parents could not be read in time")
    troubles = [(n, _trouble(parent, job_id, read.found.get(parent), tenant)) for n, parent in enumerate(parents)]
    problems = [Problem(f"{FIELD}.{n}", what) for n, what in troubles if what is not None]
    if problems:
        raise InvalidRequest(*problems)


def _trouble(parent_id: str, job_id: str, parent: Record | None, tenant: str) -> str | None:
    if parent_id == job_id:
        return f"is the job itself: {job_id} → {job_id}; it would wait for ever"
    if parent is None or parent.tenant != tenant or parent.status is Status.DELETED or is_stamped(parent_id):
        return "there is no such job; give the id of a job of yours"
    if parent.kind is Kind.RECURRING:
        return "is a recurring job, which has no end to wait for; put both into a workflow"
    if parent.kind is Kind.EVENT:
        return "is a job that waits for events, which has no end to wait for; wait for another one"
    if parent.workflow == parent_id:
        return "is a workflow, whose end is that of its jobs; wait for those of them that end last"
    return None
