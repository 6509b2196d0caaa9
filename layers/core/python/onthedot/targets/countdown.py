"""The end of a call: its time is over, or it is asked to stop."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from onthedot.core.stopping import Stop


class Stopped(Exception):
    """The call was asked to stop."""


class Countdown:
    """The time that is left of a call, and the phase that the call is in. A request to stop ends it."""

    def __init__(self, milliseconds: int, stop: Stop | None = None) -> None:
        # Not the scheduler's clock: sockets wait in real time, and the wall clock may jump.
        self._end = time.monotonic() + milliseconds / 1000
        self.stop = stop or Stop()
        self.phase = "preparing the request"

    def left(self) -> float:
        """Return the seconds that are left, more than zero. Raise TimeoutError when there are none, and Stopped."""
        self.raise_if_stopped()
        return self.left_after_stop()

    def left_after_stop(self) -> float:
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        return seconds

    def raise_if_stopped(self) -> None:
        if self.stop.reason is not None:
            raise Stopped


@contextmanager
def interruptible(stop: Stop, interrupt: Callable[[], None]) -> Iterator[None]:
    """Call `interrupt` when a stop is requested inside this block, and never after the block.

    Without the lock the thread that requests the stop could call `interrupt` just after the call ended by itself.
    The connection or process that it ends might then already serve another call.
    """
    lock = threading.Lock()
    over = False

    def interrupt_unless_over() -> None:
        with lock:
            if not over:
                interrupt()

    with stop.interrupting(interrupt_unless_over):
        try:
            yield
        finally:
            with lock:
                over = True
