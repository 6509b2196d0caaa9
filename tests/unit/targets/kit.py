"""The call that performers get in these tests, and how a test waits for clocks and processes."""

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from onthedot.core.ports import Call
from onthedot.core.records import Definition
from onthedot.core.stopping import Stop
from onthedot.targets.types import Target

NOW = 1_767_225_600_123
"""2026-01-01T00:00:00.123Z."""


def a_call_of(
    target: Target,
    payload: bytes = b"null",
    timeout_ms: int = 30_000,
    stop: Stop | None = None,
    signature: Mapping[str, str] | None = None,
) -> Call:
    return Call(
        run_id="run-7",
        job_id="job-3",
        attempt=2,
        fire_time=NOW,
        definition=Definition(target=target),
        payload=payload,
        timeout_ms=timeout_ms,
        signature=signature or {},
        stop=stop or Stop(),
    )


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


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Wait until another process has done something, or fail."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def runs(pid: int) -> bool:
    """Return whether the process exists and is not just waiting to be reaped."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def pids_in(*files: Path) -> list[int]:
    """Return the process ids that programs wrote to these files, once all of them have."""
    until(lambda: all(file.exists() and file.read_text().endswith("\n") for file in files))
    return [int(file.read_text()) for file in files]


def asking_when_it_runs(stop: Stop, *files: Path) -> threading.Thread:
    """Ask to stop as soon as programs have written these files."""

    def ask() -> None:
        pids_in(*files)
        stop.ask("cancelled")

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


T = TypeVar("T")


def side_by_side(number: int, act: Callable[[int], T]) -> list[T]:
    """Return what the act returns for each number below this one. All are under way at the same time."""
    with ThreadPoolExecutor(number) as threads:
        return list(threads.map(act, range(number)))
