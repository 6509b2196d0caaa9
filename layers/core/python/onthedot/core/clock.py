"""Time: epoch milliseconds inside, RFC 3339 in UTC with milliseconds outside; the machine's clock and a virtual one."""

import threading
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def moment_of(instant: int) -> datetime:
    return EPOCH + timedelta(milliseconds=instant)


def format_instant(instant: int) -> str:
    """Return the instant as users see it, such as `2026-03-01T12:00:00.000Z`."""
    second, milliseconds = divmod(instant, 1000)
    return f"{_second(second)}.{milliseconds:03d}Z"


@lru_cache(maxsize=256)
def _second(second: int) -> str:
    """Return the text of a second. Most instants that a process shows are close to each other."""
    return moment_of(second * 1000).replace(tzinfo=None).isoformat()


NOON: Final = 1_772_366_400_000
"""2026-03-01T12:00:00Z, the start of a bucket: where virtual time begins."""


class SystemClock:
    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def sleep_until(self, instant: int) -> None:
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
