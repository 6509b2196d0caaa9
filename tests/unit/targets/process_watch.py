"""Helpers that wait for processes to start and end."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from onthedot.core.stopping import Stop


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
