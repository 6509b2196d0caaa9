"""The three loads of the benchmark: jobs due at once, many due at one instant, and a steady rate."""

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.markup import escape

from benchmarks.common import ROOT, console
from benchmarks.peers.measured import NOTE_BYTES, Figures, Load, figures, read_notes
from benchmarks.peers.programs.calls import NOW
from benchmarks.peers.running import settle
from benchmarks.peers.tools import Subject, Tool, running

DATA: Final = ROOT / "build" / "peers-data"
WARM_UP: Final = 200
SPARE_SECONDS: Final = 4
PATIENCE_SECONDS: Final = 120


@dataclass(frozen=True)
class Sizes:
    flow: int = 5_000
    instant: int = 2_000
    per_second: int = 50
    seconds: int = 20
    synced: int = 1_000
    """Jobs of the load in which syncs are counted, 0 for none."""
    callers: int = 8


def measure(tool: Tool, sizes: Sizes) -> Figures:
    """Run all loads on one tool. Raise RuntimeError when a process of it ends, or when jobs were created too late."""
    with _a_folder() as folder, running(tool, folder) as subject:
        runner = Runner(subject, sizes.callers)
        runner.fire([NOW] * WARM_UP)
        flow = runner.fire([NOW] * sizes.flow)
        rate = sizes.flow / (flow.created - flow.began)
        first = _first_due(sizes.instant / rate)
        instant = runner.fire([first] * sizes.instant)
        count = sizes.per_second * sizes.seconds
        first = _first_due(count / rate)
        steady = runner.fire([first + number * 1000 // sizes.per_second for number in range(count)])
    return figures(flow, instant, steady, count_syncs(tool, sizes) if sizes.synced else None)


def _first_due(seconds_to_create: float) -> int:
    """Return a due time before which so much can be created, in epoch milliseconds."""
    return int((time.time() + 2 * seconds_to_create + SPARE_SECONDS) * 1000)


def count_syncs(tool: Tool, sizes: Sizes) -> float | None:
    """Count the syncs of one job that is due at once, in a run of its own: tracing costs CPU time."""
    if shutil.which("strace") is None:
        return None
    try:
        return _counted_syncs(tool, sizes)
    except (RuntimeError, OSError) as error:
        console.print(f"[yellow]{tool.row}: syncs not counted: {escape(str(error))}[/]", highlight=False)
        return None


def _counted_syncs(tool: Tool, sizes: Sizes) -> float:
    with _a_folder() as folder, running(tool, folder, traced=True) as subject:
        runner = Runner(subject, sizes.callers)
        runner.fire([NOW] * WARM_UP)
        load = runner.fire([NOW] * sizes.synced)
        return subject.synced.syncs(load.began, time.time()) / sizes.synced


@contextmanager
def _a_folder() -> Iterator[Path]:
    """Make a folder on the disk of the project, which is the same for all tools."""
    DATA.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=DATA))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Runner:
    subject: Subject
    callers: int
    created: int = 0

    def fire(self, due: Sequence[int]) -> Load:
        """Create a job for each due time, wait until all have run, and return what happened."""
        numbers = range(self.created, self.created + len(due))
        self.created = numbers.stop
        worker, store = self._spent()
        read = self.subject.notes.stat().st_size
        answer = self.subject.create(numbers.start, due, self.callers)
        if NOW < min(due) < answer["ended"] * 1000:
            raise RuntimeError("jobs were created after the first was due: this machine is too slow or too busy")
        self._await_notes(read + len(due) * NOTE_BYTES, max(due) / 1000)
        settle(self.subject.programs)
        worker_after, store_after = self._spent()
        client_ms, worker_ms = answer["cpu_ms"], worker_after - worker
        if self.subject.worker is self.subject.client:
            worker_ms = max(worker_ms - client_ms, 0)
        notes = [note for note in read_notes(self.subject.notes.read_bytes()[read:]) if note.number in numbers]
        return Load(numbers, answer["began"], answer["ended"], client_ms, worker_ms, store_after - store, notes)

    def _spent(self) -> tuple[float, float]:
        store = self.subject.store
        return self.subject.worker.cpu_ms(), store.cpu_ms() if store else 0.0

    def _await_notes(self, size: int, last_due: float) -> None:
        """Wait until the notes have this size. Give up some time after the last job is due."""
        deadline = max(time.time(), last_due) + PATIENCE_SECONDS
        while self.subject.notes.stat().st_size < size and time.time() < deadline:
            for each in self.subject.programs:
                each.check()
            time.sleep(0.05)
