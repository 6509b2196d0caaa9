"""The queues of a pull worker: which one it asks first, and the polls that bring an idle worker a run at once."""

import logging
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final

from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Received, RunQueues
from onthedot.core.schema import PRIORITIES
from onthedot.workers.lease import VISIBILITY_MS

WEIGHTS: Final = {Priority.HIGH: 6, Priority.MEDIUM: 3, Priority.LOW: 1}
AGEING_SECONDS: Final = 30.0
_STEP: Final = {priority: 30 // weight for priority, weight in WEIGHTS.items()}


class PriorityOrder:
    """The turns of one worker's queues: HIGH, MEDIUM and LOW as 6 : 3 : 1, and no queue waits forever.

    Each queue has a turn, a point in virtual time. The queue with the earliest turn goes first, and each run that was
    leased from it moves its turn on by 30 / weight. An empty queue saves up no turns: it continues where the others
    are.

    **The bound for LOW.** While LOW contains a run, at most 11 other runs (6 + 3, and one more of each where turns fall
    together) are leased between two of LOW's turns. In the long run it gets at least 1 of 10 leases. On a busy worker
    of concurrency C, with runs of R seconds, the n-th run of LOW therefore starts after at most about 10·n·R / C
    seconds, plus one ageing time.

    **Ageing.** Turns count leases, not seconds. A queue that may contain a run and was not first for the ageing time
    goes first, whatever the weights say. It does not do so twice in a row, so that long runs do not turn weights into
    equal shares.

    Callers pass the time, in seconds of any clock that never goes back.
    """

    def __init__(self, now: float, ageing_seconds: float = AGEING_SECONDS) -> None:
        self._ageing = ageing_seconds
        self._turn = dict(_STEP)
        self._waits_since = dict.fromkeys(PRIORITIES, now)
        self._aged_before = False

    def order(self, now: float) -> list[Priority]:
        by_turn = sorted(PRIORITIES, key=lambda priority: (self._turn[priority], _STEP[priority]))
        aged = self._longest_waiting(now)
        if aged is None:
            return by_turn
        return [aged, *(priority for priority in by_turn if priority is not aged)]

    def record(self, order: Sequence[Priority], most: int, leased: Sequence[Priority], now: float) -> None:
        """Move the turns on after a lease of at most `most` runs. `leased` has the priority of each leased run."""
        self._aged_before = order[0] is self._longest_waiting(now)
        self._waits_since[order[0]] = now
        for priority in leased:
            self._turn[priority] += _STEP[priority]
        present = max((self._turn[priority] - _STEP[priority] for priority in leased), default=0)
        for priority in _emptied(order, most, leased):
            self._waits_since[priority] = now
            self._turn[priority] = max(self._turn[priority], present)

    def _longest_waiting(self, now: float) -> Priority | None:
        oldest = min(PRIORITIES, key=lambda priority: self._waits_since[priority])
        is_aged = now - self._waits_since[oldest] > self._ageing
        return oldest if is_aged and not self._aged_before else None


def _emptied(order: Sequence[Priority], most: int, leased: Sequence[Priority]) -> Iterator[Priority]:
    """Yield the queues that had fewer runs than the lease asked for, so that none waits there now."""
    missing = most
    for priority in order:
        missing -= leased.count(priority)
        if missing <= 0:
            return
        yield priority


_LOG: Final = logging.getLogger(__name__)
POLL_SECONDS: Final = 5.0
"""The length of a long poll. A worker that is stopped waits for its polls to end."""


class QueuePolls:
    """Long polls of a pool's queues. The messages that they receive are kept until `take`.

    Each poll asks for one message, so that it keeps few messages from other workers. A poll cannot be interrupted: a
    message that arrives after `pause` goes back to its queue at once.
    """

    def __init__(self, queues: RunQueues, pool: str, poll_seconds: float = POLL_SECONDS) -> None:
        self._queues = queues
        self._monotonic = time.monotonic
        self._poll_seconds = poll_seconds
        self._pool = pool
        self._changed = threading.Condition()
        self._arrived: list[Received] = []
        self._polled: set[Priority] = set()
        self._accepting = False
        self._woken = False
        self._error: Exception | None = None
        self._failing: dict[Priority, Unavailable] = {}

    def wait(self, seconds: float) -> bool:
        """Wait for a message or for `wake`, and return whether one came in time.

        A queue that fails is polled again by the next wait. Raise its error only if all queues fail.
        """
        deadline = self._monotonic() + seconds
        with self._changed:
            self._accepting = True
            self._failing.clear()
            while not (self._arrived or self._woken or self._error):
                for priority in PRIORITIES:
                    self._start_poll(priority)
                # An empty poll also ends this wait, and is started again: there is always one for each queue.
                if not self._changed.wait(max(0.0, deadline - self._monotonic())):
                    break
            error, self._error = self._error, None
            woken, self._woken = self._woken, False
            if error is not None and not (self._arrived or woken):
                raise error
            return bool(self._arrived or woken)

    def wake(self) -> None:
        """End the current wait. When there is none, end the next wait as soon as it begins."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def pause(self) -> None:
        """End the current wait, and return to their queues all messages that have arrived or still arrive."""
        with self._changed:
            self._accepting, self._woken = False, True
            arrived, self._arrived = self._arrived, []
            self._changed.notify_all()
        self._give_back(arrived)

    def close(self) -> None:
        """Wait until no poll is under way. A message for a process that has ended would be hidden for a lease."""
        with self._changed:
            self._changed.wait_for(lambda: not self._polled, self._poll_seconds + 1)

    def _start_poll(self, priority: Priority) -> None:
        if priority not in self._polled and priority not in self._failing:
            self._polled.add(priority)
            threading.Thread(target=self._poll, args=(priority,), name=f"poll-{priority}", daemon=True).start()

    def _poll(self, priority: Priority) -> None:
        received: Sequence[Received] = ()
        error = None
        wait_ms = round(self._poll_seconds * 1000)
        try:
            received = self._queues.receive(self._pool, priority, 1, visibility_ms=VISIBILITY_MS, wait_ms=wait_ms)
        except Exception as failed:  # noqa: BLE001 (`wait` raises it)
            error = failed
        with self._changed:
            self._polled.discard(priority)
            self._error = self._noted(priority, error) or self._error
            if self._accepting:
                self._arrived += received
                received = ()
            self._changed.notify_all()
        self._give_back(received)

    def _noted(self, priority: Priority, error: Exception | None) -> Exception | None:
        """Return the error that `wait` has to raise: a bug, or Unavailable when all queues fail."""
        if not isinstance(error, Unavailable):
            return error
        _LOG.warning("unavailable: queue %s of pool %s: %s", priority.value, self._pool, error)
        self._failing[priority] = error
        return error if len(self._failing) == len(PRIORITIES) else None

    def take(self, order: Sequence[Priority]) -> list[Received]:
        """Return the messages that have arrived, and keep them no longer."""
        with self._changed:
            arrived, self._arrived = self._arrived, []
        return sorted(arrived, key=lambda received: order.index(received.message.priority))

    def _give_back(self, messages: Sequence[Received]) -> None:
        for received in messages:
            with suppress(Unavailable):  # the message becomes visible by itself, a little later
                self._queues.hide(received, 0)
