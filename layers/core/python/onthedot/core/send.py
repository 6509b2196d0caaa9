"""Read slots page by page, send runs to their queues, and know the queues during one tick."""

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from onthedot.core.choices import Priority
from onthedot.core.engine import Core
from onthedot.core.errors import Unavailable, Unreachable
from onthedot.core.ports import Deadline, Page, QueueCounts, Received, RunMessage, RunQueues, SlotEntry
from onthedot.core.records import Record
from onthedot.core.slots import queue_key


def message_for(run: Record | SlotEntry) -> RunMessage:
    return RunMessage(
        run_id=run.run_id,
        generation=run.generation,
        due_at=run.due_at,
        tenant=run.tenant,
        priority=run.priority,
        pool=run.pool,
        gates=run.gates,
        woken=run.woken if isinstance(run, Record) else None,
        start_by=run.start_by,
        trace=run.trace if isinstance(run, Record) else None,
    )


def send_runs(engine: Core, runs: Sequence[Record | SlotEntry], deadline: Deadline) -> int:
    """Send the runs' messages. Return how many could not be sent: these runs stay in a watch slot, for the sweep."""
    return len(engine.queues.send([message_for(run) for run in runs], deadline))


def read_slot_pages(engine: Core, slot: str, at_once: int) -> Iterator[Page[SlotEntry]]:
    """Yield the slot's entries, at most `at_once`, the earliest first, and unreadable records as they are found."""
    seen: set[str] = set()
    cursor: str | None = None
    while True:
        page = engine.store.read_slot(slot, cursor)
        fresh = [entry for entry in page.items if entry.run_id not in seen]
        seen.update(entry.run_id for entry in fresh)
        faulty = page.unreadable
        for start in range(0, max(len(fresh), 1), at_once):
            yield Page(fresh[start : start + at_once], None, faulty)
            faulty = ()
        cursor = page.cursor
        if cursor is None:
            return


_LOG: Final = logging.getLogger(__name__)
_Queue = tuple[str, Priority]


@dataclass(slots=True)
class QueueStates(RunQueues):
    """The queues of a tick. They are asked once each, for the age of their messages only because of a late run.

    A queue to which a message could not be sent is closed for the rest of the tick. It concerns only its own runs.
    """

    queues: RunQueues
    limit: int
    """A queue in which more messages wait is closed."""
    _visible: dict[_Queue, int | Unavailable] = field(default_factory=dict)
    _ages: dict[_Queue, int | None] = field(default_factory=dict)
    _closed: set[_Queue] = field(default_factory=set)
    _sent: Counter[_Queue] = field(default_factory=Counter)

    def is_closed(self, pool: str, priority: Priority) -> bool:
        """Return whether the queue takes no runs now: it has too many messages, or it fails.

        A queue that does not say how many messages it has may still take more, so it stays open.
        """
        if (pool, priority) in self._closed:
            return True
        visible = self._ask(pool, priority)
        if isinstance(visible, Unavailable):
            return isinstance(visible, Unreachable)
        return visible > self.limit

    def room(self, pool: str, priority: Priority) -> int | None:
        """Return how many more messages an open queue may take in this tick, at least one. None: it does not say."""
        visible = self._ask(pool, priority)
        return None if isinstance(visible, Unavailable) else max(1, self.limit - visible - self._sent[pool, priority])

    def may_hold(self, run: Record, now: int) -> bool | None:
        """Return whether the run's queue may still hold its message. None: the queue fails, so this is unknown."""
        visible = self._ask(run.pool, run.priority)
        if isinstance(visible, Unavailable) or (run.pool, run.priority) in self._closed:
            return None
        return is_backlogged(now - run.due_at, visible, self.oldest_age_ms(run.pool, run.priority) if visible else None)

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:
        unsent = self.queues.send(messages, deadline)
        sent = set(messages) - set(unsent)
        self._sent.update(_queue_of(message) for message in sent)
        self._closed |= {_queue_of(message) for message in unsent} - {_queue_of(message) for message in sent}
        return unsent

    def visible(self, pool: str, priority: Priority) -> int:
        visible = self._ask(pool, priority)
        if isinstance(visible, Unavailable):
            raise visible
        return visible

    def oldest_age_ms(self, pool: str, priority: Priority) -> int | None:
        queue = (pool, priority)
        if queue not in self._ages:
            self._ages[queue] = self.queues.oldest_age_ms(pool, priority)
        return self._ages[queue]

    def receive(
        self, pool: str, priority: Priority, maximum: int, *, visibility_ms: int, wait_ms: int = 0
    ) -> Sequence[Received]:
        return self.queues.receive(pool, priority, maximum, visibility_ms=visibility_ms, wait_ms=wait_ms)

    def counts(self, pool: str, priority: Priority) -> QueueCounts:
        return self.queues.counts(pool, priority)

    def delete(self, received: Received) -> None:
        self.queues.delete(received)

    def hide(self, received: Received, milliseconds: int) -> None:
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


def is_backlogged(lateness_ms: int, visible: int, oldest_age_ms: int | None) -> bool:
    """Return whether a queue may still hold the run's message: its oldest message is as old as the run is late.

    On AWS the age includes a message's delay. So the sweep may resend a run some minutes later than necessary.
    """
    if visible == 0:
        return False
    return oldest_age_ms is None or oldest_age_ms >= lateness_ms


def _queue_of(message: RunMessage) -> _Queue:
    return message.pool, message.priority
