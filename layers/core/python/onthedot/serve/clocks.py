"""The clock of a server."""

import threading

from onthedot.clock import SystemClock


class ServerClock(SystemClock):
    """The clock of the machine. One thread, the writer, must not sleep by it, because all others wait for it."""

    def __init__(self) -> None:
        self._awake: threading.Thread | None = None

    def keep_awake(self, thread: threading.Thread) -> None:
        """Refuse sleep to this thread."""
        self._awake = thread

    def sleep_until(self, instant: int) -> None:
        """Sleep, and return at or after the instant. Raise RuntimeError in the thread that must not sleep."""
        if instant > self.now() and threading.current_thread() is self._awake:
            raise RuntimeError("an operation of the writer thread must not sleep")
        super().sleep_until(instant)
