"""The run queues as one tick knows them. A queue that fails concerns only the runs that wait for it."""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable, Unreachable
from onthedot.core.ports import Deadline, QueueCounts, Received, RunMessage, RunQueues
from onthedot.core.records import Record
from onthedot.core.slots import queue_key
from onthedot.core.sweep_slots import is_backlogged

_LOG: Final = logging.getLogger(__name__)
_Queue = tuple[str, Priority]


@dataclass(slots=True)
class QueueStates(RunQueues):
    """The queues of a tick. They are asked once each, for the age of their messages only because of a late run.

    A queue to which a message could not be sent is closed for the rest of the tick.
    """

    queues: RunQueues
    _visible: dict[_Queue, int | Unavailable] = field(default_factory=dict)
    _ages: dict[_Queue, int | None] = field(default_factory=dict)
    _closed: set[_Queue] = field(default_factory=set)
    _sent: Counter[_Queue] = field(default_factory=Counter)

    def why_closed(self, pool: str, priority: Priority, limit: int) -> str | None:
        """Return why the queue takes no runs now: it has more than `limit` messages, or it fails.

        A queue that does not say how many messages it has may still take more, so it stays open.
        """
        if (pool, priority) in self._closed:
            return f"messages cannot be sent to queue {queue_key(pool, priority)} now"
        visible = self._ask(pool, priority)
        if isinstance(visible, Unreachable):
            return str(visible)
        if isinstance(visible, Unavailable) or visible <= limit:
            return None
        return f"backpressure: {visible} messages wait in {queue_key(pool, priority)} (limit {limit})"

    def is_closed(self, pool: str, priority: Priority, limit: int) -> bool:
        """Return whether the queue takes no runs now."""
        return self.why_closed(pool, priority, limit) is not None

    def room(self, pool: str, priority: Priority, limit: int) -> int | None:
        """Return how many more messages an open queue may take after those of this tick: one at least.

        None: it does not say.
        """
        visible = self._ask(pool, priority)
        return None if isinstance(visible, Unavailable) else max(1, limit - visible - self._sent[pool, priority])

    def may_hold(self, run: Record, now: int) -> bool | None:
        """Return whether the run's queue may still hold its message. None: the queue fails, so this is unknown."""
        visible = self._ask(run.pool, run.priority)
        if isinstance(visible, Unavailable) or (run.pool, run.priority) in self._closed:
            return None
        return is_backlogged(now - run.due_at, visible, self.oldest_age_ms(run.pool, run.priority) if visible else None)

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:
        """Send the messages. Close the queues that took none."""
        unsent = self.queues.send(messages, deadline)
        sent = set(messages) - set(unsent)
        self._sent.update(_queue_of(message) for message in sent)
        self._closed |= {_queue_of(message) for message in unsent} - {_queue_of(message) for message in sent}
        return unsent

    def visible(self, pool: str, priority: Priority) -> int:
        """Return the number of messages in a queue at the time when the tick first asked. Raise Unavailable."""
        visible = self._ask(pool, priority)
        if isinstance(visible, Unavailable):
            raise visible
        return visible

    def oldest_age_ms(self, pool: str, priority: Priority) -> int | None:
        """Return the age of the oldest message in a queue at the time when the tick first asked."""
        queue = (pool, priority)
        if queue not in self._ages:
            self._ages[queue] = self.queues.oldest_age_ms(pool, priority)
        return self._ages[queue]

    def receive(
        self, pool: str, priority: Priority, maximum: int, *, visibility_ms: int, wait_ms: int = 0
    ) -> Sequence[Received]:
        return self.queues.receive(pool, priority, maximum, visibility_ms=visibility_ms, wait_ms=wait_ms)

    def counts(self, pool: str, priority: Priority) -> QueueCounts:
        """Return the number of messages of a queue in each state now."""
        return self.queues.counts(pool, priority)

    def delete(self, received: Received) -> None:
        self.queues.delete(received)

    def hide(self, received: Received, milliseconds: int) -> None:
        """Hide a message for this time."""
        self.queues.hide(received, milliseconds)

    def _ask(self, pool: str, priority: Priority) -> int | Unavailable:
        queue = (pool, priority)
        if queue not in self._visible:
            try:
                self._visible[queue] = self.queues.visible(pool, priority)
            except Unavailable as error:
                _LOG.warning("queue_unavailable", extra={"queue": queue_key(pool, priority), "error": str(error)})
                self._visible[queue] = error
        return self._visible[queue]


def _queue_of(message: RunMessage) -> _Queue:
    return message.pool, message.priority
