"""Queues of runs and of ticks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from onthedot.domain.runs.records import Priority
from onthedot.ports.runs import Deadline


@dataclass(frozen=True, slots=True)
class RunMessage:
    """What waits in a queue: which run, and which scheduling of it is meant."""

    run_id: str
    generation: str
    fire_at: int
    tenant: str
    priority: Priority
    pool: str


@dataclass(frozen=True, slots=True)
class Received:
    """A message as a worker receives it."""

    message: RunMessage
    receipt: str
    receive_count: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """How far a queue is behind. `oldest_age_ms` is None where the engine cannot tell."""

    visible: int
    oldest_age_ms: int | None


class RunQueues(Protocol):
    """Waits the last minutes: delayed, at-least-once delivery by pool and priority."""

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:
        """Send each message so that it arrives in the second before its fire time. Returns what was not sent.

        The delay is computed from the clock at each send, retries included.
        """
        ...

    def backlog(self, pool: str, priority: Priority) -> Backlog: ...

    def receive(
        self, pool: str, priority: Priority, maximum: int, *, visibility_ms: int, wait_ms: int = 0
    ) -> Sequence[Received]:
        """At most ten messages, hidden from others for a while. With `wait_ms` (≤ 20 s) it waits for the first one.

        What is no message of ours is not returned; it comes again until it is a dead letter.
        """
        ...

    def delete(self, received: Received) -> None:
        """The message has served. Nothing happens when it is gone, or delivered to somebody else by now."""
        ...

    def hide(self, received: Received, milliseconds: int) -> None:
        """Give a received message back, visible again after this time (at most 12 h)."""
        ...


@dataclass(frozen=True, slots=True)
class Tick:
    """Look at these shards now. `tick_id` is the same each time the message is delivered again."""

    group: int
    shards: tuple[int, ...]
    planned_at: int
    tick_id: str = ""
    redelivered: bool = False


class TickQueue(Protocol):
    def send_ticks(self, ticks: Sequence[Tick]) -> Sequence[Tick]:
        """Returns what was not sent after bounded retries."""
        ...
