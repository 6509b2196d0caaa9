"""Poll all queues of a pool at the same time, so that an idle worker receives a run as soon as it arrives."""

import logging
import threading
import time
from collections.abc import Sequence
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.records import Priority
from onthedot.ports import Deadline, QueueCounts, Received, RunMessage, RunQueues
from onthedot.schema import PRIORITIES
from onthedot.use_cases.workers.lease_runs import VISIBILITY_MS

_LOG: Final = logging.getLogger(__name__)
POLL_SECONDS: Final = 5.0
"""The length of a long poll. A worker that is stopped waits for its polls to end."""


class PolledQueues(RunQueues):
    """A pool's queues with long polls. `receive` returns messages that a poll has received before it asks the queues.

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
        """End the present wait. When there is none, end the next wait as soon as it begins."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def pause(self) -> None:
        """End the present wait, and return to their queues all messages that have arrived or still arrive."""
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
            rejected = () if self._accepting else received
            if self._accepting:
                self._arrived += received
            self._changed.notify_all()
        self._give_back(rejected)

    def _noted(self, priority: Priority, error: Exception | None) -> Exception | None:
        """Note a queue that fails. Return the error that `wait` has to raise, if there is one."""
        if not isinstance(error, Unavailable):
            return error
        _LOG.warning("unavailable: queue %s of pool %s: %s", priority.value, self._pool, error)
        self._failing[priority] = error
        return error if len(self._failing) == len(PRIORITIES) else None

    def _give_back(self, messages: Sequence[Received]) -> None:
        for received in messages:
            try:
                self._queues.hide(received, 0)
            except Unavailable:
                continue  # the message becomes visible by itself, a little later

    def receive(
        self, pool: str, priority: Priority, maximum: int, *, visibility_ms: int, wait_ms: int = 0
    ) -> Sequence[Received]:
        """Return messages of this priority that polls have received. If there are none, ask the queue."""
        with self._changed:
            arrived = [one for one in self._arrived if one.message.priority is priority][:maximum]
            self._arrived = [one for one in self._arrived if one not in arrived]
        return arrived or self._queues.receive(pool, priority, maximum, visibility_ms=visibility_ms, wait_ms=wait_ms)

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:
        """Send messages to their queues."""
        return self._queues.send(messages, deadline)

    def visible(self, pool: str, priority: Priority) -> int:
        """Return the number of messages that wait in a queue."""
        return self._queues.visible(pool, priority)

    def oldest_age_ms(self, pool: str, priority: Priority) -> int | None:
        """Return the age of the oldest message of a queue, or None when it is not known."""
        return self._queues.oldest_age_ms(pool, priority)

    def counts(self, pool: str, priority: Priority) -> QueueCounts:
        """Return the number of messages of a queue in each state."""
        return self._queues.counts(pool, priority)

    def delete(self, received: Received) -> None:
        """Delete a message."""
        self._queues.delete(received)

    def hide(self, received: Received, milliseconds: int) -> None:
        """Hide a message for this time."""
        self._queues.hide(received, milliseconds)
