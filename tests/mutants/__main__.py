"""Plant each mutant into a copy of the product, and say whether the tests that should catch it do.

The working tree is not touched. Exit code 0: all were caught. 1: some survived. 2: the list or the tests do not work.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from tests.mutants.mutants import ROOT, SOURCES, Mutant, change_of, problems, product_of, read_list

OPTIONS: Final = ("-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=line", "-m", "not slow")
SPARE_SECONDS: Final = 60.0
TIMES_LONGER: Final = 5
"""A group that takes so many times as long as without a mutant, and the spare time, hangs."""
FAILED: Final = 1
"""The exit code of pytest when tests failed. Others mean that it could not run them."""
CAUGHT: Final = "caught"
HANGS: Final = "caught (it hangs)"
SURVIVED: Final = "SURVIVED"
BROKEN: Final = "BROKEN"


@dataclass(frozen=True, slots=True)
class Result:
    """What the tests said to a mutant."""

    id: str
    breaks: str
    verdict: str
    group: str
    """The group that caught it. Of one that survived, all that were tried."""
    test: str
    """The first test that failed, or what went wrong."""
    seconds: float


@dataclass(frozen=True, slots=True)
class Ran:
    """The end of one run of pytest. No code: it was stopped, because it hung."""

    code: int | None
    output: str
    seconds: float


class Copy:
    """A copy of the product that tests import instead of the working tree."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in SOURCES:
            shutil.copytree(ROOT / folder, root / folder)
        self._running: subprocess.Popen[str] | None = None
        self._closed = False

    def check(self) -> None:
        """Raise RuntimeError when the installed product wins over the copy."""
        code = "import onthedot; print(onthedot.__file__)"
        found = subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, env=self._environment(), text=True)
        if not Path(found.strip()).is_relative_to(self.root):
            raise RuntimeError(f"the tests would import {found.strip()}, not the copy")

    def run(self, arguments: Sequence[str], seconds: float | None = None) -> Ran:
        """Run tests on the copy."""
        folders = " ".join([str(ROOT), str(self.root / "functions"), str(ROOT / "infra")])
        command = [sys.executable, "-m", "pytest", *OPTIONS, "-o", f"pythonpath={folders}", *arguments]
        if self._closed:
            raise RuntimeError("stopped")
        began = time.monotonic()
        self._running = running = subprocess.Popen(
            command,
            cwd=ROOT,
            env=self._environment(),
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output = running.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            self._kill()
            return Ran(None, "", time.monotonic() - began)
        return Ran(running.returncode, output, time.monotonic() - began)

    @contextmanager
    def planted(self, mutant: Mutant, product: dict[Path, str]) -> Iterator[None]:
        """Have the mutant in the copy for a while."""
        change = change_of(mutant, product)
        self._write(change.path, change.after)
        try:
            yield
        finally:
            self._write(change.path, change.before)

    def close(self) -> None:
        """End the tests that run, and begin none any more."""
        self._closed = True
        self._kill()

    def _kill(self) -> None:
        """End the tests that run, with the processes that they started."""
        if self._running is not None and self._running.poll() is None:
            os.killpg(self._running.pid, signal.SIGKILL)
            self._running.wait()

    def _write(self, path: Path, text: str) -> None:
        file = self.root / path
        file.write_text(text)
        # Its time may be the same as before, to the second.
        for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
            compiled.unlink()

    def _environment(self) -> dict[str, str]:
        # CI makes Hypothesis repeat itself, and its own folder keeps the failures that it finds out of later runs.
        own = {"PYTHONPATH": str(self.root / SOURCES[0].parent), "CI": "1"}
        return {**os.environ, **own, "HYPOTHESIS_STORAGE_DIRECTORY": str(self.root / "hypothesis")}


def main() -> int:
    """Plant the chosen mutants."""
    chosen = _parser().parse_args()
    groups, mutants = read_list()
    faults = list(problems(groups, mutants))
    unknown = set(chosen.only) - {mutant.id for mutant in mutants}
    faults += [f"there is no mutant {name}" for name in sorted(unknown)]
    if faults:
        _show("\n".join(faults))
        return 2
    mutants = [mutant for mutant in mutants if not chosen.only or mutant.id in chosen.only]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies = [Copy(Path(folder) / str(number)) for number in range(chosen.jobs)]
        try:
            results = _all(copies, groups, mutants)
        finally:
            for copy in copies:
                copy.close()
    if results is None:
        return 2
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n")
    if chosen.table:
        _show("\n".join(_table(results)))
    return _summed_up(results)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[], metavar="ID", help="the mutants to plant; all without it")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to this file")
    parser.add_argument("--table", action="store_true", help="print the results as a table in Markdown")
    return parser


def _all(copies: Sequence[Copy], groups: Mapping[str, list[str]], mutants: Sequence[Mutant]) -> list[Result] | None:
    """Return the results, or None when a group of tests fails without any mutant."""
    product = product_of(ROOT)
    for copy in copies:
        copy.check()
    free: SimpleQueue[Copy] = SimpleQueue()
    for copy in copies:
        free.put(copy)

    def measure(name: str) -> Ran:
        copy = free.get()
        try:
            ran = copy.run(groups[name])
        finally:
            free.put(copy)
        _show(f"{'green' if ran.code == 0 else 'RED':8} {ran.seconds:6.1f} s  group {name}")
        return ran

    def plant(mutant: Mutant) -> Result:
        copy = free.get()
        try:
            result = _planted(copy, mutant, product, groups, seconds)
        finally:
            free.put(copy)
        _show(f"{result.verdict:8} {result.seconds:6.1f} s  {result.id}  [{result.group}] {result.test}")
        return result

    pool = ThreadPoolExecutor(len(copies))
    try:
        named = sorted({name for mutant in mutants for name in mutant.tests})
        measured = dict(zip(named, pool.map(measure, named), strict=True))
        red = [name for name, ran in measured.items() if ran.code != 0]
        if red:
            _show("\n\n".join(["without any mutant, these fail:", *(measured[name].output for name in red)]))
            return None
        seconds = {name: ran.seconds for name, ran in measured.items()}
        return list(pool.map(plant, mutants))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _planted(
    copy: Copy,
    mutant: Mutant,
    product: dict[Path, str],
    groups: Mapping[str, list[str]],
    seconds: Mapping[str, float],
) -> Result:
    began = time.monotonic()

    def result(verdict: str, group: str, test: str = "") -> Result:
        return Result(mutant.id, mutant.breaks, verdict, group, test, round(time.monotonic() - began, 1))

    with copy.planted(mutant, product):
        for name in mutant.tests:
            ran = copy.run(groups[name], seconds[name] * TIMES_LONGER + SPARE_SECONDS)
            if ran.code is None:
                return result(HANGS, name)
            if ran.code == FAILED:
                return result(CAUGHT, name, _first_failure(ran.output))
            if ran.code != 0:
                return result(BROKEN, name, ran.output[-500:])
    return result(SURVIVED, ", ".join(mutant.tests))


def _first_failure(output: str) -> str:
    """Return the name of the test that failed."""
    failed = (
        line.split(maxsplit=1)[1] for line in output.splitlines() if line.startswith(("FAILED tests/", "ERROR tests/"))
    )
    return next(failed, "").partition(" - ")[0]


def _table(results: Sequence[Result]) -> list[str]:
    rows = [f"| {one.id} | {one.breaks} | {one.verdict} | {one.group} |" for one in results]
    return ["| mutant | what it breaks | verdict | by the group |", "| --- | --- | --- | --- |", *rows]


def _summed_up(results: Sequence[Result]) -> int:
    counts = {verdict: sum(one.verdict == verdict for one in results) for verdict in (CAUGHT, HANGS, SURVIVED, BROKEN)}
    _show(", ".join(f"{number} {verdict}" for verdict, number in counts.items() if number) + f" of {len(results)}")
    return 2 if counts[BROKEN] else int(bool(counts[SURVIVED]))


def _show(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
