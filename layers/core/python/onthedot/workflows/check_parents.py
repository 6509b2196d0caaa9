"""Check the parents of a new job: each must be a job of its tenant that will end, or has ended."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from onthedot.core import patience
from onthedot.core.errors import InvalidRequest, Problem, Unavailable
from onthedot.core.ids import is_stamped
from onthedot.core.ports import Deadline
from onthedot.core.records import TERMINAL, Kind, Record, Status
from onthedot.engine import Engine
from onthedot.workflows.dependencies import TOO_MANY_CHILDREN, has_room_for

FIELD: Final = "dependencies"


class ParentCheck:
    """The check of the parents of one new job, or of all jobs of a batch. Each parent is read once."""

    def __init__(self, engine: Engine, tenant: str) -> None:
        self._engine = engine
        self._tenant = tenant
        self._known: dict[str, Record] = {}
        self._absent: set[str] = set()
        self._added: defaultdict[str, set[str]] = defaultdict(set)
        """The new children of each parent, by the parent's id."""

    def check(self, job_id: str, parents: Sequence[str]) -> None:
        """Raise InvalidRequest that names each parent for which the job cannot wait, and Unavailable.

        A job exists before its children, so the only possible cycle is a job that waits for itself.
        """
        self._read([parent for parent in parents if parent not in self._known and parent not in self._absent])
        troubles = [(n, self._trouble(parent, job_id)) for n, parent in enumerate(parents)]
        problems = [Problem(f"{FIELD}.{n}", what) for n, what in troubles if what is not None]
        if problems:
            raise InvalidRequest(*problems)
        for parent in parents:
            self._added[parent].add(job_id)

    def _read(self, parents: Sequence[str]) -> None:
        if not parents:
            return
        deadline = Deadline.after(self._engine.clock.now(), patience.READ_MS)
        read = self._engine.store.get_many(list(dict.fromkeys(parents)), deadline)
        if read.unread:
            raise Unavailable("the parents could not be read in time")
        self._known |= read.found
        self._absent |= set(parents) - read.found.keys()

    def _trouble(self, parent_id: str, job_id: str) -> str | None:
        parent = self._known.get(parent_id)
        if parent_id == job_id:
            return f"is the job itself: {job_id} → {job_id}; it would wait forever"
        if parent is None or parent.tenant != self._tenant or parent.status is Status.DELETED or is_stamped(parent_id):
            return "there is no such job; give the id of one of your jobs"
        if parent.kind is Kind.RECURRING:
            return "is a recurring job, which never ends; put both into a workflow"
        if parent.kind is Kind.EVENT:
            return "is a job that waits for events, which never ends; wait for another one"
        if parent.workflow == parent_id:
            return "is a workflow, which ends when its jobs do; wait for the jobs in it that end last"
        others = self._added[parent_id] - parent.children - {job_id}
        is_full = parent.status not in TERMINAL and not has_room_for(parent, len(others) + 1)
        return f"has no room: {TOO_MANY_CHILDREN}" if is_full and job_id not in parent.children else None
