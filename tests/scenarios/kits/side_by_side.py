"""Processes side by side in virtual time. One of them runs at a time, until it waits, so a seed always plays the same.

Each process has a thread, because the code under test is not written for a simulation: it waits by its clock only.
"""

import heapq
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from onthedot.core.clock import VirtualClock
from tests.scenarios.kits.faults import Crash


class Killed(Crash):
    """The timeout of a process is over, as that of a Lambda function, or the simulation ends."""


def _closed_gate() -> threading.Lock:
    """Return a lock as a gate: one thread waits by `acquire`, another lets it through once by `release`."""
    gate = threading.Lock()
    gate.acquire()
    return gate


@dataclass(order=True)
class _Process:
    wakes_at: int
    number: int
    act: Callable[[], object] = field(compare=False)
    killed_at: int | None = field(compare=False)
    turn: threading.Lock = field(default_factory=_closed_gate, compare=False)
    thread: threading.Thread | None = field(default=None, compare=False)


class SideClock(VirtualClock):
    """A virtual clock whose sleeping processes let the others run. Outside of a process it is a `VirtualClock`."""

    def __init__(self) -> None:
        super().__init__()
        self._sleeping: list[_Process] = []
        self._numbers = count()
        self._stopped = _closed_gate()
        self._current: _Process | None = None
        self._error: BaseException | None = None
        self._ends = False

    def spawn(self, act: Callable[[], object], *, at: int | None = None, timeout_ms: int | None = None) -> None:
        """Let a process begin at this instant, or now. After the timeout it gets `Killed` at its next sleep."""
        begins = self.now() if at is None else at
        killed_at = None if timeout_ms is None else begins + timeout_ms
        heapq.heappush(self._sleeping, _Process(begins, next(self._numbers), act, killed_at))

    def sleep_until(self, instant: int) -> None:
        """Sleep as the current process, while the others run."""
        process = self._current
        if process is None or threading.current_thread() is not process.thread:
            super().sleep_until(instant)
            return
        process.wakes_at = max(instant, self.now())
        if process.killed_at is not None:
            process.wakes_at = min(process.wakes_at, max(process.killed_at, self.now()))
        heapq.heappush(self._sleeping, process)
        self._stopped.release()
        process.turn.acquire()
        if self._ends or (process.killed_at is not None and self.now() >= process.killed_at):
            raise Killed

    def run_next(self, until: int) -> bool:
        """Let the next process run until it sleeps. Return False when none wakes up to this instant."""
        if not self._sleeping or self._sleeping[0].wakes_at > until:
            return False
        process = heapq.heappop(self._sleeping)
        super().sleep_until(process.wakes_at)
        self._resume(process)
        if self._error is not None:
            raise self._error
        return True

    def close(self) -> None:
        """End all processes."""
        self._ends = True
        while self._sleeping:
            process = heapq.heappop(self._sleeping)
            if process.thread is not None:
                self._resume(process)

    def _resume(self, process: _Process) -> None:
        self._current = process
        if process.thread is None:
            process.thread = threading.Thread(target=self._run, args=(process,), daemon=True)
            process.thread.start()
        else:
            process.turn.release()
        self._stopped.acquire()
        self._current = None

    def _run(self, process: _Process) -> None:
        try:
            process.act()
        except Crash:
            pass
        except BaseException as error:  # noqa: BLE001 - the driver raises it
            self._error = error
        self._stopped.release()
