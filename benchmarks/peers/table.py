"""The rows of the benchmark as text, for a terminal and for a page. Pure."""

import math
from collections.abc import Sequence
from typing import Final

from benchmarks.peers.measured import Figures

COST: Final = ("CPU-ms a job", "client", "worker", "store", "all", "jobs/s", "syncs a job")
LATENESS: Final = ("late", "instant p50", "p99", "max", "steady p50", "p99", "max", "early")


def cost_cells(row: str, figures: Figures) -> list[str]:
    """Return a row of the table of CPU time, throughput and syncs."""
    cpu = (figures.client_ms, figures.worker_ms, figures.store_ms, figures.all_ms)
    syncs = "not counted" if figures.syncs is None else f"{figures.syncs:.2f}"
    return [row, *(f"{value:.2f}" for value in cpu), f"{figures.finished_per_second:,.0f}", syncs]


def lateness_cells(row: str, figures: Figures) -> list[str]:
    """Return a row of the table of lateness."""
    instant = (figures.instant_p50, figures.instant_p99, figures.instant_max)
    steady = (figures.steady_p50, figures.steady_p99, figures.steady_max)
    return [row, *map(duration, (*instant, *steady)), _early(figures)]


def _early(figures: Figures) -> str:
    count = f"{figures.early:,.0f}"
    return f"{count}, up to {duration(figures.earliest_ms)}" if figures.early else count


def duration(ms: float) -> str:
    """Return a time with its unit, and with about two digits."""
    if math.isnan(ms):
        return "–"
    if abs(ms) >= 1000:
        return f"{ms / 1000:.1f} s"
    return f"{ms:.0f} ms" if abs(ms) >= 10 else f"{ms:.1f} ms"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of a page. Every column but the first is for numbers."""
    rule = ["---", *["---:"] * (len(columns) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [columns, rule, *rows])
