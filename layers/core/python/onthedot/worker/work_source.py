"""The interface through which a pull worker gets tasks and reports them: the same for REST and for `--direct`.

Every method may raise Unavailable for a failure that may pass, and NotAllowed for a failure that trying again does not
cure.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from onthedot.core.choices import Priority
from onthedot.core.errors import OnthedotError
from onthedot.core.leases import Fenced, LeaseExtended
from onthedot.core.pools import Needs
from onthedot.core.ports import Answer, Performer
from onthedot.core.progress import LatestProgress, ProgressReport
from onthedot.core.stopping import Stop
from onthedot.workers.records import Load, Resources
from onthedot.workers.registrations import Offer


class NotAllowed(OnthedotError):
    """A refusal of the worker that trying again does not cure. Its message says what to do."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """An attempt that this worker has leased and is to perform."""

    run_id: str
    attempt: int
    priority: Priority
    needs: Needs
    alone: bool
    """No other task may run alongside it, because it lost a worker before."""
    lease_end: float
    """The end of the lease as it was leased, in seconds of this machine's monotonic clock."""
    perform: Callable[[Performer, Stop, LatestProgress], Answer]
    """Perform the attempt once. The progress gets the target's reports. It raises no error for a failure of the
    target."""
    source_note: Any = field(default=None, repr=False)
    """Data that the work source needs to extend the lease and to report the task."""


@dataclass(frozen=True, slots=True)
class LeasedTasks:
    """The tasks that one call leased."""

    tasks: Sequence[Task] = ()
    alone_waiting: bool = False
    """A run that must be alone found the worker busy. The worker leases no more tasks until it is idle."""


class WorkSource(Protocol):
    """The source of one worker's tasks, which also receives its reports."""

    notices_work: bool
    """Whether `wait` ends when a task arrives. If not, the worker asks at intervals."""

    def register(self, offer: Offer) -> str:
        """Register the worker with its offer, and return its id. Raise NotAllowed when it may not work here."""

    def send_heartbeat(self, load: Load) -> None:
        """Report that the worker lives, and its load. Raise WorkerNotFound when the registry has forgotten it."""

    def lease(self, most: int, priorities: Sequence[Priority], free: Resources, *, idle: bool) -> LeasedTasks:
        """Start up to `most` runs that fit into the free resources, from the queues in this order.

        A source may wait for a first run. The heartbeat that reports a stopping worker ends its wait.
        `idle` says that no task runs on the worker now. Raise WorkerNotFound when the worker must register again.
        """

    def wait(self, seconds: float) -> bool:
        """Wait until a task may be there, and return whether one may be. `pause` ends the wait early."""

    def pause(self) -> None:
        """Accept nothing until the next `lease` or `wait`. A run that arrives meanwhile goes to another worker."""

    def close(self) -> None:
        """Wait until nothing more can arrive for this worker. The worker calls it once, when it ends."""

    def extend_lease(self, task: Task, progress: ProgressReport | None = None) -> LeaseExtended | Fenced:
        """Extend the lease of the run with a report about it, and hide its message for longer."""

    def report(self, task: Task, answer: Answer) -> Fenced | None:
        """Record the end of the attempt, once. Return Fenced, and write nothing, when it no longer owns the run."""
