"""The run queues of a server: messages in memory, which arrive at the millisecond.

A message only points at a run, and the run is on disk. So the messages of a process that dies are lost without harm: at
its start the next process sends the runs in watch slots again. A message that is sent in a transaction arrives when
the transaction is on disk.
"""

import heapq
import itertools
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from onthedot.core.choices import Priority
from onthedot.core.pools import MOST_RECEIVES, PoolKind
from onthedot.core.ports import Clock, Deadline, QueueCounts, Received, RunMessage
from onthedot.core.schema import PRIORITIES
from onthedot.core.slots import queue_key
from onthedot.core.stopping import Stop
from onthedot.engines.sqlite.database import Database

MAX_MESSAGES: Final = 10
MAX_HIDE_SECONDS: Final = 12 * 3600
LONGEST_PAUSE_MS: Final = 30_000
"""The longest wait without a look at the clock, which may be set ahead."""
_RECEIVES: Final = MOST_RECEIVES[PoolKind.PULL]


@dataclass(slots=True)
class _Letter:
    message: RunMessage
    number: str
    """A text that no other message has, also none of another process."""
    visible_at: int
    place: int = -1
    """The number of its entry in the heap. The heap may still have older entries of it."""
    receives: int = 0
    is_gone: bool = False
    """Whether it was deleted. The heap still has it."""


class _Queue:
    """The messages of one pool and priority by the time at which they can be received."""

    def __init__(self) -> None:
        self.heap: list[tuple[int, int, _Letter]] = []
        self.hidden: dict[str, _Letter] = {}
        self.latest: dict[tuple[str, str], _Letter] = {}
        """The message that was sent last for a run and its generation."""
        self.dead = 0

    def first(self) -> _Letter | None:
        while self.heap:
            _, place, letter = self.heap[0]
            if not letter.is_gone and letter.place == place:
                return letter
            heapq.heappop(self.heap)
        return None

    def letters(self) -> list[_Letter]:
        return [letter for _, place, letter in self.heap if not letter.is_gone and letter.place == place]

    def forget(self, letter: _Letter) -> None:
        letter.is_gone = True
        if self.latest.get(_scheduling(letter.message)) is letter:
            del self.latest[_scheduling(letter.message)]


class LiveQueues:
    """A `RunQueues` in the memory of one process, for all its threads."""

    def __init__(self, database: Database, clock: Clock, max_receives: int = _RECEIVES) -> None:
        self.on_change: Callable[[], None] = lambda: None
        """Called when a message may be received earlier than any before."""
        self._database = database
        self._clock = clock
        self._max_receives = max_receives
        self._lock = threading.RLock()
        self._changed: dict[str, threading.Condition] = {}
        """By pool. A message wakes only the threads that wait for its pool."""
        self._queues: dict[str, _Queue] = {}
        self._numbers = itertools.count()
        # A worker may send a receipt of the process before. It must not fit a message of this one.
        self._process = secrets.token_hex(6)

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:  # noqa: ARG002
        """Send messages, when the open transaction is on disk. Each arrives at its fire time."""
        self._database.after_commit(lambda: self._put(messages))
        return ()

    def receive(
        self, pool: str, priority: Priority, maximum: int, *, visibility_ms: int, wait_ms: int = 0
    ) -> Sequence[Received]:
        until = self._clock.now() + wait_ms
        with self._lock:
            while True:
                received = self._receive(pool, priority, min(maximum, MAX_MESSAGES), visibility_ms)
                now = self._clock.now()
                if received or now >= until:
                    return received
                self._pause(pool, min(until, self._next(pool, [priority]) or until), now)

    def receive_first(
        self,
        pool: str,
        priorities: Sequence[Priority],
        *,
        visibility_ms: int,
        until: int,
        is_over: Callable[[], bool] = lambda: False,
    ) -> Sequence[Received]:
        """Wait for one message of these queues, and return it. The queues are asked in this order.

        Return none at the instant `until`, or when `is_over` says so. Of many threads that wait, one gets the message,
        and the others wait on.
        """
        with self._lock:
            while not is_over():
                for priority in priorities:
                    if received := self._receive(pool, priority, 1, visibility_ms):
                        return received
                now = self._clock.now()
                if now >= until:
                    return ()
                first = self._next(pool, priorities)
                self._pause(pool, until if first is None else min(until, first), now)
            return ()

    def wake(self) -> None:
        with self._lock:
            for changed in self._changed.values():
                changed.notify_all()

    def delete(self, received: Received) -> None:
        with self._lock:
            found = self._found(received)
            if found is not None:
                found[0].forget(found[1])
                del found[0].hidden[received.receipt]

    def hide(self, received: Received, milliseconds: int) -> None:
        wait = min(max(milliseconds, 0), MAX_HIDE_SECONDS * 1000)
        with self._lock:
            found = self._found(received)
            if found is not None and found[1].visible_at > self._clock.now():
                self._post(found[0], found[1], self._clock.now() + wait)
                self._notify(received.message.pool)

    def visible(self, pool: str, priority: Priority) -> int:
        return self.counts(pool, priority).visible

    def oldest_age_ms(self, pool: str, priority: Priority) -> int | None:
        """Return for how long the run that waits longest has been due, or None when none waits."""
        now = self._clock.now()
        with self._lock:
            letters = self._queue(pool, priority).letters()
            ages = (now - letter.message.due_at for letter in letters if letter.visible_at <= now)
            return max(ages, default=None)

    def next_at(self, pool: str) -> int | None:
        with self._lock:
            return self._next(pool, PRIORITIES)

    def counts(self, pool: str, priority: Priority) -> QueueCounts:
        now = self._clock.now()
        with self._lock:
            queue = self._queue(pool, priority)
            letters = queue.letters()
            visible = sum(letter.visible_at <= now for letter in letters)
            delayed = sum(letter.visible_at > now and letter.receives == 0 for letter in letters)
            hidden = len(letters) - visible - delayed
            return QueueCounts(visible, delayed, hidden, queue.dead, queue_key(pool, priority))

    def _put(self, messages: Sequence[RunMessage]) -> None:
        with self._lock:
            for message in messages:
                queue = self._queue(message.pool, message.priority)
                if self._waits(queue, message):
                    continue
                letter = _Letter(message, f"{self._process}{next(self._numbers):x}", message.due_at)
                queue.latest[_scheduling(message)] = letter
                self._post(queue, letter, message.due_at)
            for pool in {message.pool for message in messages}:
                self._notify(pool)

    def _waits(self, queue: _Queue, message: RunMessage) -> bool:
        """Say whether a message of the same scheduling is here for it. A run that waits long is sent again."""
        known = queue.latest.get(_scheduling(message))
        if known is None or known.receives >= self._max_receives:
            return False
        return known.visible_at <= max(message.due_at, self._clock.now())

    def _post(self, queue: _Queue, letter: _Letter, visible_at: int) -> None:
        letter.visible_at, letter.place = visible_at, next(self._numbers)
        heapq.heappush(queue.heap, (visible_at, letter.place, letter))

    def _receive(self, pool: str, priority: Priority, maximum: int, visibility_ms: int) -> list[Received]:
        queue, now = self._queue(pool, priority), self._clock.now()
        received: list[Received] = []
        while len(received) < maximum and (letter := queue.first()) is not None and letter.visible_at <= now:
            heapq.heappop(queue.heap)
            queue.hidden.pop(_receipt(letter), None)
            if letter.receives >= self._max_receives:
                queue.forget(letter)
                queue.dead += 1
                continue
            letter.receives += 1
            receipt = _receipt(letter)
            queue.hidden[receipt] = letter
            received.append(Received(letter.message, receipt, letter.receives))
        # Not before: a message that is visible again at once must not come twice in one answer.
        for one in received:
            self._post(queue, queue.hidden[one.receipt], now + visibility_ms)
        return received

    def _found(self, received: Received) -> tuple[_Queue, _Letter] | None:
        queue = self._queue(received.message.pool, received.message.priority)
        letter = queue.hidden.get(received.receipt)
        return None if letter is None else (queue, letter)

    def _queue(self, pool: str, priority: Priority) -> _Queue:
        return self._queues.setdefault(queue_key(pool, priority), _Queue())

    def _next(self, pool: str, priorities: Sequence[Priority]) -> int | None:
        firsts = (self._queue(pool, priority).first() for priority in priorities)
        return min((letter.visible_at for letter in firsts if letter is not None), default=None)

    def _notify(self, pool: str) -> None:
        if (changed := self._changed.get(pool)) is not None:
            changed.notify_all()
        self.on_change()

    def _pause(self, pool: str, until: int, now: int) -> None:
        changed = self._changed.get(pool)
        if changed is None:
            changed = self._changed[pool] = threading.Condition(self._lock)
        changed.wait(min(max(until - now, 1), LONGEST_PAUSE_MS) / 1000)


def _scheduling(message: RunMessage) -> tuple[str, str]:
    return message.run_id, message.generation


def _receipt(letter: _Letter) -> str:
    return f"{letter.number}/{letter.receives}"


class _Wait:
    def __init__(self, queues: LiveQueues, gone: Stop) -> None:
        self._queues = queues
        self._gone = gone
        self.has_ended = False

    @property
    def is_over(self) -> bool:
        return self.has_ended or self._gone.reason is not None

    def receive(
        self, pool: str, priorities: Sequence[Priority], *, visibility_ms: int, until: int
    ) -> Sequence[Received]:
        return self._queues.receive_first(
            pool, priorities, visibility_ms=visibility_ms, until=until, is_over=lambda: self.is_over
        )


class SqliteLeaseWaits:
    def __init__(self, queues: LiveQueues) -> None:
        self._queues = queues
        self._lock = threading.Lock()
        self._waits: dict[str, list[_Wait]] = {}

    @contextmanager
    def of(self, worker_id: str, gone: Stop) -> Iterator[_Wait]:
        """Register the wait of a lease, so that no call of `end` is missed from now on."""
        wait = _Wait(self._queues, gone)
        with self._lock:
            self._waits.setdefault(worker_id, []).append(wait)
        try:
            with gone.interrupting(self._queues.wake):
                yield wait
        finally:
            with self._lock:
                self._waits[worker_id].remove(wait)
                if not self._waits[worker_id]:
                    del self._waits[worker_id]

    def end(self, worker_id: str) -> None:
        """Let the leases of this worker that wait look once more."""
        with self._lock:
            waits = list(self._waits.get(worker_id, ()))
        for wait in waits:
            wait.has_ended = True
        if waits:
            self._queues.wake()
