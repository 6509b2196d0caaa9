"""Heartbeats: extend the leases of all running attempts of this process every ten seconds."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from onthedot.domain import lifecycle
from onthedot.domain.errors import Unavailable
from onthedot.domain.run import Record
from onthedot.ports import Clock, Refused, RunStore

HEARTBEAT_SECONDS: Final = 10.0


class LeaseKeeper:
    """One thread for any number of attempts; it lives while there is one. Short attempts cost no heartbeat."""

    def __init__(self, store: RunStore, clock: Clock, seconds: float = HEARTBEAT_SECONDS) -> None:
        self._store = store
        self._clock = clock
        self._seconds = seconds
        self._lock = threading.Lock()
        self._running: dict[str, Record] = {}
        self._idle = threading.Event()
        self._idle.set()

    @contextmanager
    def keeping(self, run: Record) -> Iterator[None]:
        self._add(run)
        try:
            yield
        finally:
            self._remove(run)

    def beat(self) -> None:
        """Extend every lease once. One that is refused belongs to somebody else by now: it is let go."""
        now = self._clock.now()
        for run in list(self._running.values()):
            try:
                outcome = self._store.move(lifecycle.extend_lease(run, now))
            except Unavailable:
                continue  # the lease outlasts two missed beats
            if isinstance(outcome, Refused):
                self._remove(run)

    def _add(self, run: Record) -> None:
        with self._lock:
            self._running[run.run_id] = run
            if self._idle.is_set():
                self._idle.clear()
                threading.Thread(target=self._beat_until_idle, name="leases", daemon=True).start()

    def _remove(self, run: Record) -> None:
        with self._lock:
            self._running.pop(run.run_id, None)
            if not self._running:
                self._idle.set()

    def _beat_until_idle(self) -> None:
        while not self._idle.wait(self._seconds):
            self.beat()
