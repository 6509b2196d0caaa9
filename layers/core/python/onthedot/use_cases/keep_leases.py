"""Heartbeats: extend the leases of all running attempts of this process every ten seconds, and bring back a cancel."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from onthedot.domain import lifecycle
from onthedot.domain.errors import Unavailable
from onthedot.domain.run import Record
from onthedot.ports import Clock, Moved, RunStore
from onthedot.stopping import Stop

HEARTBEAT_SECONDS: Final = 10.0
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
        self._running: dict[str, _Kept] = {}
        self._idle = threading.Event()
        self._idle.set()

    @contextmanager
    def keeping(self, run: Record, stop: Stop) -> Iterator[None]:
        self._add(_Kept(run, stop, run.lease_until or self._clock.now()))
        try:
            yield
        finally:
            self._remove(run)

    def beat(self) -> None:
        """Extend every lease once. One that is refused belongs to somebody else by now: it is let go."""
        for kept in list(self._running.values()):
            self._extend(kept)

    def _extend(self, kept: _Kept) -> None:
        now = self._clock.now()
        try:
            outcome = self._store.move(lifecycle.extend_lease(kept.run, now))
        except Unavailable:
            return  # the lease outlasts a missed beat, and the watch stops its target before it ends
        if not isinstance(outcome, Moved):
            kept.stop.ask(FENCED)
            self._remove(kept.run)
            return
        kept.until = now + lifecycle.LEASE_MS
        if outcome.run is not None and outcome.run.cancel_requested is not None:
            kept.stop.ask(CANCELLED)

    def _add(self, kept: _Kept) -> None:
        with self._lock:
            self._running[kept.run.run_id] = kept
            if self._idle.is_set():
                self._idle.clear()
                threading.Thread(target=self._beat_until_idle, name="leases", daemon=True).start()

    def _remove(self, run: Record) -> None:
        with self._lock:
            self._running.pop(run.run_id, None)
            if not self._running:
                self._idle.set()

    def watch(self) -> None:
        """Ask those to stop whose lease is about to end. Apart from the beats, which may hang in a call."""
        now = self._clock.now()
        for kept in list(self._running.values()):
            if kept.until - STOP_MARGIN_MS <= now:
                kept.stop.ask(UNHEARD)

    def _beat_until_idle(self) -> None:
        watching = False
        while not self._idle.wait(self._seconds):
            if not watching:  # nothing can be about to end before the first beat
                watching = True
                threading.Thread(target=self._watch_until_idle, name="lease-watch", daemon=True).start()
            self.beat()

    def _watch_until_idle(self) -> None:
        while not self._idle.wait(WATCH_SECONDS):
            self.watch()
