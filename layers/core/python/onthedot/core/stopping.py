"""The signal that asks a running attempt to end early: it was cancelled, or its worker may not continue."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stop:
    """A one-shot stop signal with a reason. Blocking code registers a callback, which a stop interrupts at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason: str | None = None
        self._interrupts: list[Callable[[], None]] = []

    @property
    def reason(self) -> str | None:
        return self._reason

    def ask(self, reason: str) -> None:
        """Request the stop. Only the first request counts.

        The registered callbacks run in this thread, and must not block or raise.
        """
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
            interrupts = list(self._interrupts)
        for interrupt in interrupts:
            interrupt()

    def wait(self, seconds: float) -> bool:
        # Made here: each attempt has a Stop, and few wait for it.
        requested = threading.Event()
        with self.interrupting(requested.set):
            return requested.wait(seconds)

    def on_ask(self, interrupt: Callable[[], None]) -> None:
        """Call this when the stop is requested, or now if it already was."""
        with self._lock:
            already_requested = self._reason is not None
            self._interrupts.append(interrupt)
        if already_requested:
            interrupt()

    @contextmanager
    def interrupting(self, interrupt: Callable[[], None]) -> Iterator[None]:
        self.on_ask(interrupt)
        try:
            yield
        finally:
            with self._lock:
                self._interrupts.remove(interrupt)
