"""Where a pull worker gets its work and reports it: the one seam between the runtime and the two ways of reaching us.

Everything may raise Unavailable for what passes, and NotAllowed for what no patience cures.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from onthedot.domain.errors import OnthedotError
from onthedot.domain.runs.records import Priority
from onthedot.domain.workers.pools import Needs
from onthedot.domain.workers.records import Load, Resources
from onthedot.ports import Answer, Performer
from onthedot.stopping import Stop
from onthedot.use_cases.workers.worker_registry import Offer


class NotAllowed(OnthedotError):
    """The worker cannot work like this, and trying again does not help; the message says what to do."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A run that this worker has."""

    run_id: str
    attempt: int
    priority: Priority
    needs: Needs
    alone: bool
    """It lost a worker before: nothing else may run beside it."""
    lease_end: float
    """When the lease ends, on this machine's monotonic clock, in seconds."""
    perform: Callable[[Performer, Stop], Answer]
    """Does it once. Raises nothing for what the other side does."""
    source_note: Any = field(default=None, repr=False)
    """What the desk wants to remember about it."""


@dataclass(frozen=True, slots=True)
class LeasedTasks:
    """`alone_waiting`: a run that must be alone found the worker busy; take nothing more until it is idle."""

    tasks: Sequence[Task] = ()
    alone_waiting: bool = False


@dataclass(frozen=True, slots=True)
class LeaseExtended:
    """The lease was extended."""

    lease_end: float
    cancel_requested: bool = False


@dataclass(frozen=True, slots=True)
class Fenced:
    """The attempt is not ours any more: it ended, was lost, or another one has begun."""

    why: str


class WorkSource(Protocol):
    """Gives work to one worker and takes its reports."""

    notices_work: bool
    """Whether `wait` ends when there is something to take; if not, the worker asks now and then."""

    def register(self, offer: Offer) -> str:
        """Say what the worker can do; returns its id. Raises NotAllowed when it may not work here."""
        ...

    def beat(self, load: Load) -> None:
        """The worker lives, and this is what it does. One that was forgotten is registered again."""
        ...

    def take(self, most: int, priorities: Sequence[Priority], free: Resources, *, idle: bool) -> LeasedTasks:
        """Up to `most` started runs that fit into what is free, from the queues in this order. Does not wait.

        `idle`: nothing runs on the worker now. Raises WorkerNotFound when it must register again.
        """
        ...

    def wait(self, seconds: float) -> bool:
        """Whether there may be something to take by now. Ends early when there is, or when `rest` is called."""
        ...

    def rest(self) -> None:
        """Nothing is wanted until the next `take` or `wait`: what arrives meanwhile is for others."""
        ...

    def close(self) -> None:
        """The worker ends: wait until nothing can arrive for it any more."""
        ...

    def keep(self, task: Task) -> LeaseExtended | Fenced:
        """Extend the lease, and the hiding of its message."""
        ...

    def report(self, task: Task, answer: Answer) -> Fenced | None:
        """What became of the task. Saying it again is harmless. Fenced: it was somebody else's, nothing was written."""
        ...
