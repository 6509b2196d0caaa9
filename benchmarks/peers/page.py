"""Renew the measured part of docs/benchmarks.md and the plot beside it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from benchmarks.common import ROOT, Bar
from benchmarks.peers.measured import Figures
from benchmarks.peers.plot import plot
from benchmarks.peers.table import COST, LATENESS, cost_cells, lateness_cells, markdown

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
