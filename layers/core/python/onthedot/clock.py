"""The machine's clock."""

import time


class SystemClock:
    """Epoch milliseconds of this machine."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000

    def sleep_until(self, instant: int) -> None:
        """`time.sleep` may return a little early against the wall clock, so look again."""
        while (left := instant - self.now()) > 0:
            time.sleep(left / 1000)
