"""Long polls of a pool's queues at the same time, so that an idle worker hears of a run at once."""

import threading
from collections.abc import Sequence
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.run import Priority
from onthedot.ports import Backlog, Deadline, Received, RunMessage, RunQueues
from onthedot.schema import PRIORITIES
from onthedot.use_cases.lease_runs import VISIBILITY_MS

POLL_SECONDS: Final = 20.0
SOME_SECONDS: Final = 1.0
"""How long only some queues are polled before all are looked at again."""


class PolledQueues(RunQueues):
    """A pool's queues; what a long poll has brought is received first.

    Each poll asks for one message, so that little is taken that others could have. A poll cannot be called back: what
    one brings when nothing is wanted any more is given back at once.
    """

    def __init__(self, queues: RunQueues, pool: str, poll_seconds: float = POLL_SECONDS) -> None:
        self._queues = queues
        self._poll_seconds = poll_seconds
        self._pool = pool
        self._changed = threading.Condition()
        self._brought: list[Received] = []
        self._polled: set[Priority] = set()
        self._wanted: frozenset[Priority] = frozenset()
        self._woken = False
        self._error: Exception | None = None

    def wait(self, seconds: float, priorities: Sequence[Priority] = PRIORITIES) -> bool:
        """Poll these: whether something was brought, or somebody woke us. Raises what a poll did.

        What an earlier poll brings from another queue is given back: nobody will take it now.
        """
        with self._changed:
            self._wanted = frozenset(priorities)
            self._brought, unwanted = self._sorted_out(self._brought)
        for received in unwanted:
            self._give_back(received)
        with self._changed:
            for priority in priorities:
                self._start_poll(priority)
            patience = min(seconds, self._poll_seconds if len(priorities) == len(PRIORITIES) else SOME_SECONDS)
            self._changed.wait_for(lambda: self._brought or self._woken or self._error, patience)
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
            self._wanted, self._woken = frozenset(), True
            unwanted, self._brought = self._brought, []
            self._changed.notify_all()
        for received in unwanted:
            self._give_back(received)

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
            brought, unwanted = self._sorted_out(received)
            self._brought += brought
            self._changed.notify_all()
        for one in unwanted:
            self._give_back(one)

    def _sorted_out(self, received: Sequence[Received]) -> tuple[list[Received], list[Received]]:
        """What is wanted now, and what is not."""
        wanted = [one for one in received if one.message.priority in self._wanted]
        return wanted, [one for one in received if one not in wanted]

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
