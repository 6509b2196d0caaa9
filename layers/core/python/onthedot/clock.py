"""The clock of this machine."""

import time


class SystemClock:
    """The `Clock` that reads the time of this machine."""

    def now(self) -> int:
        """Return the present in epoch milliseconds."""
        return time.time_ns() // 1_000_000

    def sleep_until(self, instant: int) -> None:
        """Sleep, and return at or after the instant."""
        # `time.sleep` may return a little early against the wall clock, so look again.
        while (left := instant - self.now()) > 0:
            time.sleep(left / 1000)
