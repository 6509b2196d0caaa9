"""The clock of the machine, and a virtual clock for tests and benchmarks."""

import threading
import time
from typing import Final

NOON: Final = 1_772_366_400_000
"""2026-03-01T12:00:00Z, the start of a bucket: where virtual time begins."""


class SystemClock:
    """The `Clock` that reads the time of this machine."""

    def now(self) -> int:
        """Return the present in epoch milliseconds."""
        return time.time_ns() // 1_000_000

    def sleep_until(self, instant: int) -> None:
        """Sleep, and return at or after the instant."""
        # `time.sleep` may return a little early by the wall clock, so the loop reads the clock again.
        while (left := instant - self.now()) > 0:
            time.sleep(left / 1000)


class VirtualClock:
    """A clock for tests and benchmarks. It stands still until its user sleeps or moves it."""

    def __init__(self, now: int = NOON) -> None:
        self._now = now
        self._lock = threading.Lock()

    def now(self) -> int:
        return self._now

    def sleep_until(self, instant: int) -> None:
        with self._lock:
            self._now = max(self._now, instant)

    def advance(self, seconds: float) -> None:
        with self._lock:
            self._now += round(seconds * 1000)
