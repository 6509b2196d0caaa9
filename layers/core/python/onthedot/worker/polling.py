"""Long polls of a pool's queues at the same time, so that an idle worker hears of a run at once."""

import threading
import time
from collections.abc import Sequence
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.records import Priority
from onthedot.ports import Backlog, Deadline, Received, RunMessage, RunQueues
from onthedot.schema import PRIORITIES
from onthedot.use_cases.workers.lease_runs import VISIBILITY_MS

POLL_SECONDS: Final = 5.0
"""A worker that is stopped waits for its polls to end."""


class PolledQueues(RunQueues):
    """A pool's queues; what a long poll has brought is received first.

    Each poll asks for one message, so that little is taken that others could have. A poll cannot be called back: what
    one brings when nothing is wanted any more is given back at once.
    """

    def __init__(self, queues: RunQueues, pool: str, poll_seconds: float = POLL_SECONDS) -> None:
        self._queues = queues
        self._monotonic = time.monotonic
        self._poll_seconds = poll_seconds
        self._pool = pool
        self._changed = threading.Condition()
        self._brought: list[Received] = []
        self._polled: set[Priority] = set()
        self._wanted = False
        self._woken = False
        self._error: Exception | None = None

    def wait(self, seconds: float) -> bool:
        """Whether something was brought within this time, or somebody woke us. Raises what a poll did."""
        deadline = self._monotonic() + seconds
        with self._changed:
            self._wanted = True
            while not (self._brought or self._woken or self._error):
                for priority in PRIORITIES:
                    self._start_poll(priority)
                # A poll that ends with nothing ends this too, and is begun anew: there is always one for each queue.
                if not self._changed.wait(max(0.0, deadline - self._monotonic())):
                    break
            error, self._error = self._error, None
            woken, self._woken = self._woken, False
            if error is not None and not (self._brought or woken):
                raise error
            return bool(self._brought or woken)

    def wake(self) -> None:
        """End the wait; if there is none, the next one ends at once."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def rest(self) -> None:
        """Give back what was brought, and what is still to come; and `wake`."""
        with self._changed:
            self._wanted, self._woken = False, True
            unwanted, self._brought = self._brought, []
            self._changed.notify_all()
        for received in unwanted:
            self._give_back(received)

    def close(self) -> None:
        """Wait until no poll is under way: what one brought to a process that is gone would be hidden for a lease."""
        with self._changed:
            self._changed.wait_for(lambda: not self._polled, self._poll_seconds + 1)

    def _start_poll(self, priority: Priority) -> None:
        if priority not in self._polled:
            self._polled.add(priority)
            threading.Thread(target=self._poll, args=(priority,), name=f"poll-{priority}", daemon=True).start()

    def _poll(self, priority: Priority) -> None:
        received: Sequence[Received] = ()
        error = None
        wait_ms = round(self._poll_seconds * 1000)
        try:
            received = self._queues.receive(self._pool, priority, 1, visibility_ms=VISIBILITY_MS, wait_ms=wait_ms)
        except Exception as failed:  # noqa: BLE001 (raised by whoever waits)
            error = failed
        with self._changed:
            self._polled.discard(priority)
            self._error = error or self._error
            unwanted = () if self._wanted else received
            if self._wanted:
                self._brought += received
            self._changed.notify_all()
        for one in unwanted:
            self._give_back(one)

    def _give_back(self, received: Received) -> None:
        try:
            self._queues.hide(received, 0)
        except Unavailable:
            return  # it comes again by itself, a little later

    def receive(
        self, pool: str, priority: Priority, maximum: int, *, visibility_ms: int, wait_ms: int = 0
    ) -> Sequence[Received]:
        with self._changed:
            mine = [one for one in self._brought if one.message.priority is priority][:maximum]
            self._brought = [one for one in self._brought if one not in mine]
        return mine or self._queues.receive(pool, priority, maximum, visibility_ms=visibility_ms, wait_ms=wait_ms)

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:
        return self._queues.send(messages, deadline)

    def backlog(self, pool: str, priority: Priority) -> Backlog:
        return self._queues.backlog(pool, priority)

    def delete(self, received: Received) -> None:
        self._queues.delete(received)

    def hide(self, received: Received, milliseconds: int) -> None:
        self._queues.hide(received, milliseconds)
