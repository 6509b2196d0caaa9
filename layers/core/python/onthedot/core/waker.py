"""Wake a thread that waits in a selector."""

import math
import socket
import time
from contextlib import suppress
from selectors import EVENT_READ, BaseSelector


class Waker:
    """Makes a selector return. `wake` is safe to use from any thread, and is never lost: the selector sees it later."""

    def __init__(self, selector: BaseSelector) -> None:
        self._selector = selector
        self._read, self._write = socket.socketpair()
        self._read.setblocking(False)
        self._write.setblocking(False)
        selector.register(self._read, EVENT_READ, self._drain)

    def wake(self) -> None:
        with suppress(OSError):  # closed, or full of wakes that the thread has not seen yet
            self._write.send(b"\0")

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            self._read.recv(4096)

    def close(self) -> None:
        self._selector.unregister(self._read)
        self._read.close()
        self._write.close()


def seconds_until(instant: float) -> float | None:
    """Return the timeout of a selector that waits until an instant of the monotonic clock. None: forever."""
    if instant <= 0:
        return 0.0
    return None if instant == math.inf else max(instant - time.monotonic(), 0.0)
