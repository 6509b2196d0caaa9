"""The plot of the benchmark: an SVG with one panel for CPU time and one for each kind of lateness. Pure."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from benchmarks.peers.measured import Figures
from benchmarks.peers.table import duration

LABELS: Final = 280
BARS: Final = 400
VALUES: Final = 150
ROW: Final = 22
HEAD: Final = 46
LEAST_MS: Final = 1
"""The left end of the logarithmic axis."""
PARTS: Final = ("client", "worker", "store")
STYLE: Final = """\
text { font: 13px system-ui, sans-serif; fill: #24292f; }
.title { font-weight: 600; }
.client { fill: #8fb8de; }
.worker { fill: #2f6fb0; }
.store { fill: #b9bec6; }
.late { fill: #b4552d; }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3; } .store { fill: #6e7681; } }
"""


Scale = Callable[[float, float], float]
"""Return the place of a time on an axis that ends at the other time, from 0 to 1."""


@dataclass(frozen=True)
class Panel:
    """A title, and for each row the lengths of its parts (0 to 1) by class, and the text behind them."""

    title: str
    rows: Mapping[str, tuple[Sequence[tuple[str, float]], str]]

    @property
    def height(self) -> int:
        return HEAD + ROW * len(self.rows)


def plot(rows: Mapping[str, Figures]) -> str:
    """Return the SVG of all panels, one below the other."""
    panels = [
        _cpu_panel(rows),
        _late_panel("Due at one instant: p99 late", rows, lambda figures: figures.instant_p99, _on_line),
        _late_panel("Steady rate: p99 late (logarithmic)", rows, lambda figures: figures.steady_p99, _on_log),
    ]
    tops = [sum(panel.height for panel in panels[:number]) for number in range(len(panels))]
    body = "\n".join(_drawn(panel, top) for panel, top in zip(panels, tops, strict=True))
    width, height = LABELS + BARS + VALUES, sum(panel.height for panel in panels) + 10
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
    return f"{head}\n<style>\n{STYLE}</style>\n{body}\n</svg>\n"


def _cpu_panel(rows: Mapping[str, Figures]) -> Panel:
    most = max((figures.all_ms for figures in rows.values()), default=0) or 1
    title = "CPU-ms a job, create to finish: client (light), scheduler + worker (dark), store (grey)"
    return Panel(title, {row: (_cpu_parts(figures, most), f"{figures.all_ms:.2f}") for row, figures in rows.items()})


def _cpu_parts(figures: Figures, most: float) -> list[tuple[str, float]]:
    spent = (figures.client_ms, figures.worker_ms, figures.store_ms)
    return [(part, ms / most) for part, ms in zip(PARTS, spent, strict=True)]


def _late_panel(title: str, rows: Mapping[str, Figures], of: Callable[[Figures], float], place: Scale) -> Panel:
    most = max((of(figures) for figures in rows.values() if of(figures) > LEAST_MS), default=10 * LEAST_MS)
    texts = {row: f"{duration(of(figures))}{_early(figures)}" for row, figures in rows.items()}
    return Panel(title, {row: ([("late", place(of(rows[row]), most))], texts[row]) for row in rows})


def _early(figures: Figures) -> str:
    return ", some early" if figures.early else ""


def _on_line(ms: float, most: float) -> float:
    """Return the place of a time on a linear axis, 0 for early and for unknown ones."""
    return ms / most if ms > 0 else 0.0


def _on_log(ms: float, most: float) -> float:
    """Return the place of a time on a logarithmic axis, 0 for times up to its left end and for unknown ones."""
    return math.log(ms / LEAST_MS) / math.log(most / LEAST_MS) if ms > LEAST_MS else 0.0


def _drawn(panel: Panel, top: int) -> str:
    lines = [f'<text class="title" x="10" y="{top + 28}">{escape(panel.title)}</text>']
    for number, (row, (parts, text)) in enumerate(panel.rows.items()):
        y = top + HEAD + number * ROW
        lines.append(f'<text x="{LABELS - 10}" y="{y + 13}" text-anchor="end">{escape(row)}</text>')
        x = float(LABELS)
        for part, share in parts:
            lines.append(f'<rect class="{part}" x="{x:.1f}" y="{y}" width="{share * BARS:.1f}" height="{ROW - 6}"/>')
            x += share * BARS
        lines.append(f'<text x="{x + 6:.1f}" y="{y + 13}">{escape(text)}</text>')
    return "\n".join(lines)
