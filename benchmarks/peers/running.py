"""Processes of the benchmark: start, CPU time of a process with its children, counted syncs, stop."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.common import ROOT

STOP_SECONDS: Final = 20
SETTLED_MS: Final = 10
_TICK_MS: Final = 1000 / os.sysconf("SC_CLK_TCK")
_TRACE: Final = ("strace", "-f", "-qq", "-ttt", "--seccomp-bpf", "-e", "trace=fsync,fdatasync", "-e", "signal=none")
_SYNC: Final = re.compile(r"^(?:\d+ +)?(\d+\.\d+) (?:fsync|fdatasync)\(", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """A process of the benchmark. When its syncs are counted, the process is the child of a tracer."""

    process: subprocess.Popen[str]
    log: Path
    trace: Path | None = None

    @property
    def pid(self) -> int:
        """Return the process that is measured: the tracer's child where there is a tracer."""
        if self.trace is None:
            return self.process.pid
        return next((pid for pid, (parent, _) in _processes().items() if parent == self.process.pid), self.process.pid)

    def cpu_ms(self) -> float:
        return cpu_of_tree(self.pid, _processes())

    def syncs(self, began: float, ended: float) -> int:
        """Count the syncs between two instants in epoch seconds."""
        text = self.trace.read_text() if self.trace else ""
        return sum(began <= float(at) <= ended for at in _SYNC.findall(text))

    def check(self) -> None:
        """Raise RuntimeError with the end of the log when the process has ended."""
        if self.process.poll() is not None:
            raise RuntimeError(f"{self.log.stem} ended with {self.process.returncode}: {self.tail()}")

    def tail(self) -> str:
        return self.log.read_text(errors="replace")[-800:].strip()


@contextmanager
def program(
    command: Sequence[str],
    log: Path,
    *,
    env: Mapping[str, str] | None = None,
    traced: bool = False,
    stop: signal.Signals = signal.SIGTERM,
    pipes: bool = False,
    **options: Any,
) -> Iterator[Program]:
    """Run a command in the background, with its output in a log, and stop it at the end."""
    trace = log.with_suffix(".trace") if traced else None
    tracer = [*_TRACE, "-o", str(trace)] if trace else []
    with log.open("w") as output:
        process = subprocess.Popen(
            [*tracer, *command],
            stdin=subprocess.PIPE if pipes else subprocess.DEVNULL,
            stdout=subprocess.PIPE if pipes else output,
            stderr=output,
            env=dict(os.environ | dict(env or {})),
            cwd=ROOT,
            text=True,
            start_new_session=True,
            **options,
        )
    running = Program(process, log, trace)
    try:
        yield running
    finally:
        _stop(running, stop)


def _stop(running: Program, how: signal.Signals) -> None:
    """Ask the process to end, and kill all that is left of its process group."""
    if running.process.poll() is None:
        _signal(running.pid, how)
        with suppress(subprocess.TimeoutExpired):
            running.process.wait(STOP_SECONDS)
    # Wrappers of programs do not pass signals on, so a child may outlive its parent.
    with suppress(ProcessLookupError):
        os.killpg(running.process.pid, signal.SIGKILL)
    running.process.wait()
    for stream in (running.process.stdin, running.process.stdout):
        if stream:
            stream.close()


def _signal(pid: int, how: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, how)


def settle(programs: Sequence[Program], patience: float = 5) -> None:
    """Wait until the processes have done their work: they use no CPU time for a moment."""
    deadline = time.monotonic() + patience
    before = sum(each.cpu_ms() for each in programs)
    while time.monotonic() < deadline:
        time.sleep(0.3)
        now = sum(each.cpu_ms() for each in programs)
        if now - before <= SETTLED_MS:
            return
        before = now


Processes = Mapping[int, tuple[int, float]]
"""Parent and CPU milliseconds of each process. The time includes children that have ended."""


def cpu_of_tree(root: int, processes: Processes) -> float:
    return sum(processes[pid][1] for pid in [root, *_descendants(root, processes)] if pid in processes)


def _descendants(root: int, processes: Processes) -> list[int]:
    children = [pid for pid, (parent, _) in processes.items() if parent == root]
    return [*children, *(pid for child in children for pid in _descendants(child, processes))]


def _processes() -> Processes:
    found: dict[int, tuple[int, float]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[int(entry.name)] = (int(fields[1]), sum(map(int, fields[11:15])) * _TICK_MS)
    return found
