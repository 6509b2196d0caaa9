"""A clock for tests of time-outs: the part before the one that a test is about takes no time on a busy machine."""

import time
from collections.abc import Callable


class JumpingClock:
    """A monotonic clock that stands still until something has happened. Then it shows so many seconds and goes on.

    It takes the place of the module `time`.
    """

    def __init__(self, seconds: float, has_happened: Callable[[], bool]) -> None:
        self._seconds = seconds
        self._has_happened = has_happened
        self._since: float | None = None

    def monotonic(self) -> float:
        if self._since is None:
            if not self._has_happened():
                return 0.0
            self._since = time.monotonic()
        return self._seconds + time.monotonic() - self._since
