"""How a running attempt is asked to end before its time: it was cancelled, or its worker may not go on with it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stop:
    """Asked once, with a reason. Whoever blocks says how it is interrupted; one that came late is told at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = threading.Event()
        self._reason: str | None = None
        self._interrupts: list[Callable[[], None]] = []

    @property
    def reason(self) -> str | None:
        """Why it is to stop; None while nobody asked."""
        return self._reason

    def ask(self, reason: str) -> None:
        """The first reason counts. Interrupts are called in this thread, and must not block or raise."""
        with self._lock:
            if self._reason is not None:
                return
            self._reason = reason
            interrupts = list(self._interrupts)
        self._asked.set()
        for interrupt in interrupts:
            interrupt()

    def wait(self, seconds: float) -> bool:
        """Whether it was asked within this time."""
        return self._asked.wait(seconds)

    @contextmanager
    def interrupting(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Call `interrupt` when asked, while this lasts."""
        with self._lock:
            late = self._reason is not None
            self._interrupts.append(interrupt)
        if late:
            interrupt()
        try:
            yield
        finally:
            with self._lock:
                self._interrupts.remove(interrupt)
