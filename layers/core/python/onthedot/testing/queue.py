"""The run queues of a test: messages in memory, which arrive exactly at their fire times."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Final

from onthedot.domain.runs.records import Priority
from onthedot.ports import Clock, Deadline, Received, RunMessage

VISIBILITY_MS: Final = 960_000
"""A message whose worker died is delivered again after this time, as by the queues of push pools."""
_ORDER: Final = {Priority.HIGH: 0, Priority.MEDIUM: 1, Priority.LOW: 2}
_MOST: Final = 10


@dataclass(slots=True)
class _Entry:
    """A message in a queue."""

    message: RunMessage
    visible_at: int
    receives: int = 0


@dataclass(slots=True)
class MemoryQueues:
    """The `RunQueues` of one process. It is not safe to use from several threads.

    The heap may have several places for a message that was hidden. Only the latest one counts.
    """

    clock: Clock
    _entries: dict[int, _Entry] = field(default_factory=dict)
    _heap: list[tuple[int, int, int]] = field(default_factory=list)
    _numbers: "count[int]" = field(default_factory=count)

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:  # noqa: ARG002
        now = self.clock.now()
        for message in messages:
            self._put(next(self._numbers), _Entry(message, max(message.fire_at, now)))
        return ()

    def next_at(self) -> int | None:
        """Return the time at which the next message arrives or arrived, or None."""
        while self._heap and not self._is_current(self._heap[0]):
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take(self) -> Received | None:
        """Receive the first message that is due: the earliest, and of those the one with the highest priority."""
        at = self.next_at()
        if at is None or at > self.clock.now():
            return None
        return self._receive(self._heap[0][2], VISIBILITY_MS)

    def receive(
        self,
        pool: str,
        priority: Priority,
        maximum: int,
        *,
        visibility_ms: int,
        wait_ms: int = 0,  # noqa: ARG002 - nothing arrives while the only thread waits
    ) -> Sequence[Received]:
        now = self.clock.now()
        due = [
            number
            for number, entry in self._entries.items()
            if entry.visible_at <= now and (entry.message.pool, entry.message.priority) == (pool, priority)
        ]
        return [self._receive(number, visibility_ms) for number in due[: min(maximum, _MOST)]]

    def visible(self, pool: str, priority: Priority) -> int:
        if (first := self.next_at()) is None or first > self.clock.now():
            return 0
        now, queue = self.clock.now(), (pool, priority)
        messages = (entry.message for entry in self._entries.values() if entry.visible_at <= now)
        return sum((message.pool, message.priority) == queue for message in messages)

    def oldest_age_ms(self, pool: str, priority: Priority) -> int | None:
        now, queue = self.clock.now(), (pool, priority)
        entries = (e for e in self._entries.values() if (e.message.pool, e.message.priority) == queue)
        first = min((entry.visible_at for entry in entries), default=now + 1)
        return None if first > now else now - first

    def delete(self, received: Received) -> None:
        number = self._number(received)
        if number is not None:
            del self._entries[number]

    def hide(self, received: Received, milliseconds: int) -> None:
        number = self._number(received)
        if number is not None:
            entry = self._entries[number]
            entry.visible_at = self.clock.now() + max(milliseconds, 0)
            self._put(number, entry)

    def _put(self, number: int, entry: _Entry) -> None:
        self._entries[number] = entry
        heappush(self._heap, (entry.visible_at, _ORDER[entry.message.priority], number))

    def _receive(self, number: int, visibility_ms: int) -> Received:
        entry = self._entries[number]
        entry.receives += 1
        entry.visible_at = self.clock.now() + visibility_ms
        self._put(number, entry)
        return Received(entry.message, f"{number}/{entry.receives}", entry.receives)

    def _is_current(self, place: tuple[int, int, int]) -> bool:
        entry = self._entries.get(place[2])
        return entry is not None and entry.visible_at == place[0]

    def _number(self, received: Received) -> int | None:
        """Return the number of a message, or None when it is gone or was received again."""
        number, _, receives = received.receipt.partition("/")
        entry = self._entries.get(int(number))
        return int(number) if entry is not None and entry.receives == int(receives) else None
