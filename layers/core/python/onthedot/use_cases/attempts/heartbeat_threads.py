"""The threads that keep the leases of a process while its attempts run."""

import threading
from collections.abc import Callable
from typing import Final

HEARTBEAT_SECONDS: Final = 10.0
SOONER: Final = 0.2
"""After a heartbeat that could not extend every lease, the next one follows after this part of the interval.

A short outage must not cost a lease.
"""
WATCH_SECONDS: Final = 1.0


class HeartbeatThreads:
    """Two threads that call `beat` and `watch` at their intervals. A `beat` may hang in a call, a `watch` must not.

    A `beat` that returns False is repeated sooner. A thread that ends by an error calls `on_failure`.
    """

    def __init__(
        self,
        beat: Callable[[], bool],
        watch: Callable[[], None],
        *,
        beat_seconds: float = HEARTBEAT_SECONDS,
        watch_seconds: float = WATCH_SECONDS,
        on_failure: Callable[[Exception], None] = lambda _: None,
    ) -> None:
        self._beat = beat
        self._watch = watch
        self._beat_seconds = beat_seconds
        self._watch_seconds = watch_seconds
        self._on_failure = on_failure
        self._soon = threading.Event()
        self._ended = threading.Event()
        self._beating = threading.Thread(target=self._run, args=(self._beat_on,), name="heartbeat", daemon=True)
        self._watching = threading.Thread(target=self._run, args=(self._watch_on,), name="lease-watch", daemon=True)

    def start(self, *, watch_now: bool = True) -> None:
        """Start the heartbeats, and the watch either now or with the first heartbeat."""
        if watch_now:
            self._watching.start()
        self._beating.start()

    def beat_soon(self) -> None:
        """Begin the next heartbeat now."""
        self._soon.set()

    def end(self, patience: float = 0) -> None:
        """Begin no heartbeat after this, and wait for the last one, at most for this time in seconds."""
        self._ended.set()
        self._soon.set()
        self._beating.join(patience)

    def _run(self, loop: Callable[[], None]) -> None:
        try:
            loop()
        except Exception as error:
            self._on_failure(error)
            raise

    def _beat_on(self) -> None:
        seconds = self._beat_seconds
        while not self._wait(seconds):
            if self._watching.ident is None:
                self._watching.start()
            seconds = self._beat_seconds if self._beat() else self._beat_seconds * SOONER

    def _wait(self, seconds: float) -> bool:
        self._soon.wait(seconds)
        self._soon.clear()
        return self._ended.is_set()

    def _watch_on(self) -> None:
        while not self._ended.wait(self._watch_seconds):
            self._watch()
