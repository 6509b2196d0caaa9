"""The queues of runs and of ticks."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from onthedot.domain.runs.records import Priority
from onthedot.ports.runs import Deadline
from onthedot.stopping import Stop


@dataclass(frozen=True, slots=True)
class RunMessage:
    """A message in a run queue. It names a run and one scheduling of it, which is its generation."""

    run_id: str
    generation: str
    fire_at: int
    tenant: str
    priority: Priority
    pool: str
    gates: tuple[str, ...] = ()
    """The gates that the run itself names. A stamped run asks the gates of its job instead."""
    woken: str | None = None
    """The gate at which the run waited last, if it was taken off the list."""
    start_by: int | None = None
    """The time after which the run is skipped, if it has not started before."""
    trace: str | None = None
    """The stored trace of the run. A message that is made from the due index has none, because the index has none."""


@dataclass(frozen=True, slots=True)
class Received:
    """A message as a worker receives it, with the receipt by which the worker deletes or hides it."""

    message: RunMessage
    receipt: str
    receive_count: int


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """The number of messages of a queue in each state. On AWS the numbers are approximate."""

    visible: int
    delayed: int
    in_flight: int
    dead: int
    name: str = ""
    """The name of the queue. The priorities of a pool may share one queue."""


class RunQueues(Protocol):
    """The queues by pool and priority, in which the messages of runs wait for the last minutes before they are due.

    Delivery is delayed and happens at least once.
    """

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:
        """Send each message so that it arrives in the second before its fire time.

        The delay is computed from the clock at each send, retries included. Return the messages whose sending was not
        confirmed before the deadline. A queue that fails keeps only its own messages from being sent.
        """
        ...

    def visible(self, pool: str, priority: Priority) -> int:
        """Return the number of messages that a worker could receive now.

        Raise Unreachable when the stage has no such queue or may not use it. Raise Unavailable when it does not answer.
        """
        ...

    def oldest_age_ms(self, pool: str, priority: Priority) -> int | None:
        """Return the age of the oldest message, or None when it is not known. This never raises Unavailable.

        Another service than the queue may have to answer. So a caller asks only when its decision depends on the age.
        """
        ...

    def counts(self, pool: str, priority: Priority) -> QueueCounts:
        """Return the number of messages in each state, dead letters included.

        Raise Unreachable when the stage has no such queue or may not use it. Raise Unavailable when it does not answer.
        """
        ...

    def receive(
        self, pool: str, priority: Priority, maximum: int, *, visibility_ms: int, wait_ms: int = 0
    ) -> Sequence[Received]:
        """Return at most ten messages and hide them from other workers for `visibility_ms`.

        With `wait_ms` (at most 20 s) wait for the first one. A message that onthedot did not write is not returned. The
        queue delivers it again until it becomes a dead letter.
        """
        ...

    def delete(self, received: Received) -> None:
        """Delete a message. Nothing happens when it is gone, or when another worker has received it by now."""
        ...

    def hide(self, received: Received, milliseconds: int) -> None:
        """Give a received message back to its queue. It is visible again after this time (at most 12 h)."""
        ...


class LeaseWait(Protocol):
    """The wait of one lease call for a message of its pool."""

    @property
    def is_over(self) -> bool:
        """Whether the lease must not wait any longer: it was asked to look, or the caller has gone."""
        ...

    def receive(
        self, pool: str, priorities: Sequence[Priority], *, visibility_ms: int, until: int
    ) -> Sequence[Received]:
        """Wait for one message of these queues, in this order, and hide it. Return none when the wait is over."""
        ...


class LeaseWaits(Protocol):
    """The lease calls that wait, by worker. Only an engine on which a wait costs nothing has them."""

    def of(self, worker_id: str, gone: Stop) -> AbstractContextManager[LeaseWait]:
        """Return the wait of a lease that begins now. It ends when `gone` is asked."""
        ...

    def end(self, worker_id: str) -> None:
        """Let the leases of this worker that wait look once more, and return."""
        ...


@dataclass(frozen=True, slots=True)
class Tick:
    """A message of the planner to a dispatcher: run the passes of these shards now."""

    group: int
    shards: tuple[int, ...]
    planned_at: int
    tick_id: str = ""
    """The id of the message. It stays the same when the queue delivers the message again."""
    redelivered: bool = False
    """Whether the queue has delivered the message before."""


class TickQueue(Protocol):
    """The queue between the planner and the dispatchers."""

    def send_ticks(self, ticks: Sequence[Tick]) -> Sequence[Tick]:
        """Send the ticks. Return the ticks whose sending was not confirmed after bounded retries."""
        ...
