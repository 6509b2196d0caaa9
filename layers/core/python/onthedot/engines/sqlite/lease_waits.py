"""Leases of pull workers that wait in this process until a message of their pool arrives."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from onthedot.core.choices import Priority
from onthedot.core.ports import Received
from onthedot.core.stopping import Stop
from onthedot.engines.sqlite.live_queues import LiveQueues


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
