"""Heartbeats: extend the leases of all running attempts of this process every ten seconds, and bring back a cancel."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.records import Record
from onthedot.ports import Clock, Moved, RunStore
from onthedot.stopping import Stop

HEARTBEAT_SECONDS: Final = 10.0
SOONER: Final = 0.2
"""After a beat that was not heard the next comes after this part of the time: a short outage must not cost a lease."""
STOP_MARGIN_MS: Final = 5_000
"""A target is asked to stop this long before a lease ends that could not be extended."""
WATCH_SECONDS: Final = 1.0
CANCELLED: Final = "the job was cancelled"
FENCED: Final = "another attempt owns the run"
UNHEARD: Final = "the lease could not be extended"


@dataclass(slots=True)
class _Kept:
    run: Record
    stop: Stop
    until: int
    """The end of the lease as far as we know: what the store confirmed last."""


class LeaseKeeper:
    """One thread for any number of attempts; it lives while there is one. Short attempts cost no heartbeat."""

    def __init__(self, store: RunStore, clock: Clock, seconds: float = HEARTBEAT_SECONDS) -> None:
        self._store = store
        self._clock = clock
        self._seconds = seconds
        self._lock = threading.Lock()
        self._running: dict[tuple[str, int], _Kept] = {}
        self._idle = threading.Event()
        self._idle.set()

    @contextmanager
    def keeping(self, run: Record, stop: Stop) -> Iterator[None]:
        self._add(_Kept(run, stop, run.lease_until or self._clock.now()))
        try:
            yield
        finally:
            self._remove(run)

    def beat(self) -> bool:
        """Extend every lease once; whether all were heard of. One that is refused is somebody else's: it is let go."""
        heard = [self._extend(kept) for kept in list(self._running.values())]
        return all(heard)

    def _extend(self, kept: _Kept) -> bool:
        now = self._clock.now()
        try:
            outcome = self._store.move(lifecycle.extend_lease(kept.run, now))
        except Unavailable:
            return False  # the lease outlasts a missed beat, and the watch stops its target before it ends
        if not isinstance(outcome, Moved):
            kept.stop.ask(FENCED)
            self._remove(kept.run)
            return True
        kept.until = now + lifecycle.LEASE_MS
        if outcome.run is not None and outcome.run.cancel_requested is not None:
            kept.stop.ask(CANCELLED)
        return True

    def _add(self, kept: _Kept) -> None:
        with self._lock:
            self._running[kept.run.run_id, kept.run.attempt] = kept
            if self._idle.is_set():
                self._idle.clear()
                threading.Thread(target=self._beat_until_idle, name="leases", daemon=True).start()

    def _remove(self, run: Record) -> None:
        with self._lock:
            self._running.pop((run.run_id, run.attempt), None)
            if not self._running:
                self._idle.set()

    def watch(self) -> None:
        """Ask those to stop whose lease is about to end. Apart from the beats, which may hang in a call."""
        now = self._clock.now()
        for kept in list(self._running.values()):
            if kept.until - STOP_MARGIN_MS <= now:
                kept.stop.ask(UNHEARD)

    def _beat_until_idle(self) -> None:
        watching, all_heard = False, True
        while not self._idle.wait(self._seconds if all_heard else self._seconds * SOONER):
            if not watching:  # nothing can be about to end before the first beat
                watching = True
                threading.Thread(target=self._watch_until_idle, name="lease-watch", daemon=True).start()
            all_heard = self.beat()

    def _watch_until_idle(self) -> None:
        while not self._idle.wait(WATCH_SECONDS):
            self.watch()
