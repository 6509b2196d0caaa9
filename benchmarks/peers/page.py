"""Renew the measured part of docs/benchmarks.md and the plot beside it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from xml.sax.saxutils import escape

from benchmarks.common import ROOT, Bar
from benchmarks.peers.measured import Figures

COST: Final = ("CPU-ms a job", "client", "worker", "store", "all", "jobs/s", "syncs a job")
LATENESS: Final = ("late", "instant p50", "p99", "max", "steady p50", "p99", "max", "early")


def cost_cells(row: str, figures: Figures) -> list[str]:
    cpu = (figures.client_ms, figures.worker_ms, figures.store_ms, figures.all_ms)
    syncs = "not counted" if figures.syncs is None else f"{figures.syncs:.2f}"
    return [row, *(f"{value:.2f}" for value in cpu), f"{figures.finished_per_second:,.0f}", syncs]


def lateness_cells(row: str, figures: Figures) -> list[str]:
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
    texts = {row: f"{duration(of(figures))}{_has_early(figures)}" for row, figures in rows.items()}
    return Panel(title, {row: ([("late", place(of(rows[row]), most))], texts[row]) for row in rows})


def _has_early(figures: Figures) -> str:
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


PAGE: Final = ROOT / "docs" / "benchmarks.md"
PLOT: Final = ROOT / "docs" / "benchmarks.svg"
BEGIN: Final = "<!-- measured by python -m benchmarks.peers --write: begin -->"
END: Final = "<!-- measured: end -->"


def write(rows: Mapping[str, Figures], judged: Sequence[Bar], about: Mapping[str, Any]) -> None:
    """Write the plot, and the table between the markers of the page."""
    text = between_markers(PAGE.read_text(), measured_part(rows, judged, about))
    PLOT.write_text(plot(rows))
    PAGE.write_text(text)


def between_markers(page: str, part: str) -> str:
    """Return the page with another text between its markers. Raise ValueError when it has no markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} needs the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{part}\n{END}{after}"


def measured_part(rows: Mapping[str, Figures], judged: Sequence[Bar], about: Mapping[str, Any]) -> str:
    cost = markdown(COST, [cost_cells(*row) for row in rows.items()])
    lateness = markdown(LATENESS, [lateness_cells(*row) for row in rows.items()])
    parts = [*_about(about), cost, lateness, f"![The figures as a plot]({PLOT.name})"]
    parts += [_skipped(about["skipped"])] if about["skipped"] else []
    parts += [_bars(judged)] if judged else []
    return "\n\n".join(parts)


def _about(about: Mapping[str, Any]) -> list[str]:
    sizes, slowness = about["sizes"], about["slowness"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return [
        f"Measured {about['at'][:10]} on {about['machine']}, rounds: {about['rounds']} (medians). {versions}.",
        f"Jobs due at once: {sizes['flow']:,}. Due at one instant: {sizes['instant']:,}. "
        f"Steady: {sizes['per_second']} a second for {sizes['seconds']} s. Callers of the client: {sizes['callers']}. "
        f"Reference work took {min(slowness):.1f}–{max(slowness):.1f} times as long as on the machine of "
        "`benchmarks/README.md` (*Noise*).",
    ]


def _skipped(skipped: Mapping[str, str]) -> str:
    return "Not measured: " + "; ".join(f"{row} ({why})" for row, why in skipped.items()) + "."


def _bars(judged: Sequence[Bar]) -> str:
    rows = [
        [bar.what, f"{bar.measured:.3g} {bar.unit}", f"{bar.at_most:.3g} {bar.unit}", "met" if bar.holds else "missed"]
        for bar in judged
    ]
    return markdown(["bar", "measured", "at most", ""], rows)
