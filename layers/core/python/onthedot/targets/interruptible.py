"""Interrupt a call when it is asked to stop, and never after it has ended."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from onthedot.stopping import Stop


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
