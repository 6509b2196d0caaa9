"""Measure onthedot beside Celery, BullMQ, huey, APScheduler and Procrastinate: the same jobs in one run.

python -m benchmarks.peers                     measure all, some minutes for each tool
python -m benchmarks.peers --only BullMQ huey  some of them
python -m benchmarks.peers --small             a quick try: figures of so few jobs mean little
python -m benchmarks.peers --rounds 3 --write  renew docs/benchmarks.md and docs/benchmarks.svg
python -m benchmarks.peers --from FILE --write the same, from the results of an earlier run (--json FILE)
"""

import argparse
import json
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from subprocess import SubprocessError
from typing import Any, Final

from rich.markup import escape

from benchmarks.common import Bar, console, cpu_of, finish, show
from benchmarks.peers import page
from benchmarks.peers.environments import machine, versions
from benchmarks.peers.loads import Sizes, measure
from benchmarks.peers.measured import Figures, bars, over_rounds, share_of_all
from benchmarks.peers.page import COST, LATENESS, cost_cells, lateness_cells
from benchmarks.peers.tools import BULLMQ, ONTHEDOT, TOOLS, Tool, missing

SMALL: Final = Sizes(flow=500, instant=300, seconds=4, synced=300)


class Rounds:
    """Measures tools in turns, and keeps the figures of each round."""

    def __init__(self, tools: Sequence[Tool], sizes: Sizes) -> None:
        self.skipped = {tool.row: why for tool in tools if (why := missing(tool))}
        self.slowness: list[float] = []
        self._tools = [tool for tool in tools if tool.row not in self.skipped]
        self._sizes = sizes
        self._measured: dict[str, list[Figures]] = {}

    def play(self, rounds: int) -> None:
        """Measure each tool once a round. A tool that fails is left out, and the others go on."""
        for row, why in self.skipped.items():
            console.print(f"[yellow]{row}: skipped, {why}[/]")
        for number in range(rounds):
            for tool in self._tools:
                with console.status(f"round {number + 1} of {rounds}: {tool.row}"):
                    self._measure(tool)

    def _measure(self, tool: Tool) -> None:
        self.slowness.append(cpu_of(lambda: None).slowness)
        try:
            figures = measure(tool, self._sizes)
        except (RuntimeError, OSError, ValueError, SubprocessError) as error:
            self.skipped[tool.row] = "it failed"
            console.print(f"[bold red]{tool.row}: {escape(f'{type(error).__name__}: {error}')}[/]", highlight=False)
            return
        self._measured.setdefault(tool.row, []).append(figures)
        console.print(f"[dim]{'  '.join(cost_cells(tool.row, figures))}[/]", highlight=False)

    def rows(self) -> dict[str, Figures]:
        """Return the figures over all rounds, in the order of the tools. A tool that failed once has none."""
        return {row: over_rounds(each) for row, each in self._measured.items() if row not in self.skipped}


def judge(rows: Mapping[str, Figures]) -> list[Bar]:
    """Return the bars of onthedot's row, none without that row. The peers are those with default settings."""
    if ONTHEDOT not in rows:
        return []
    peers = {tool.row: tool for tool in TOOLS if tool.is_default and tool.name != ONTHEDOT and tool.row in rows}
    bullmq = {row: rows[row] for row, tool in peers.items() if tool.name == BULLMQ}
    return bars(rows[ONTHEDOT], {row: rows[row] for row in peers}, bullmq)


def measured(options: argparse.Namespace) -> tuple[dict[str, Figures], dict[str, Any]]:
    """Measure, or read an earlier run, and return the rows and all that is known about the run."""
    if options.earlier:
        content = json.loads(options.earlier.read_text())
        return {row: Figures(**figures) for row, figures in content["rows"].items()}, content["about"]
    sizes = SMALL if options.small else Sizes()
    rounds = Rounds([tool for tool in TOOLS if not options.only or tool.name in options.only], sizes)
    rounds.play(options.rounds)
    about = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "versions": dict(versions()),
        "sizes": asdict(sizes),
        "rounds": options.rounds,
        "slowness": rounds.slowness,
        "skipped": rounds.skipped,
    }
    return rounds.rows(), about


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.peers", description=__doc__.splitlines()[0] if __doc__ else "")
    names = sorted({tool.name for tool in TOOLS})
    parser.add_argument("--only", nargs="+", choices=names, metavar="TOOL", help=f"some of: {', '.join(names)}")
    parser.add_argument("--rounds", type=int, default=1, help="measure each tool so many times, in turns (1)")
    parser.add_argument("--small", action="store_true", help="few jobs, for a quick try")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results to a file too")
    parser.add_argument(
        "--from", type=Path, metavar="FILE", dest="earlier", help="use such a file, and measure nothing"
    )
    parser.add_argument("--write", action="store_true", help="renew docs/benchmarks.md and docs/benchmarks.svg")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    if options.write and (options.only or options.small):
        parser.error("--write needs all tools and all jobs: leave out --only and --small")
    return options


def _say_share(rows: Mapping[str, Figures]) -> None:
    peers = {row: figures for row, figures in rows.items() if row != ONTHEDOT}
    if ONTHEDOT not in rows:
        console.print("no bars: onthedot's row was not measured")
    elif peers:
        share = share_of_all(rows[ONTHEDOT], peers)
        console.print(f"CPU of all processes (client and store included), relative to the cheapest peer: × {share:.2f}")


def main() -> int:
    options = arguments()
    # Ended by a signal, it stops its programs too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    rows, about = measured(options)
    show("create to finish", COST, [cost_cells(*row) for row in rows.items()])
    show("jobs that are due later", LATENESS, [lateness_cells(*row) for row in rows.items()])
    judged = judge(rows)
    results = {"rows": {row: asdict(figures) for row, figures in rows.items()}, "about": about}
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    if options.write:
        page.write(rows, judged, about)
    _say_share(rows)
    failed = finish("peers", results, judged)
    return 1 if ONTHEDOT in about["skipped"] else failed


if __name__ == "__main__":
    sys.exit(main())
