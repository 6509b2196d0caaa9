"""The page and the plot of the benchmark beside other tools."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.common import Bar
from benchmarks.peers import page
from benchmarks.peers.page import (
    BARS,
    BEGIN,
    COST,
    END,
    LATENESS,
    PAGE,
    PLOT,
    between_markers,
    cost_cells,
    duration,
    lateness_cells,
    markdown,
    measured_part,
    plot,
)
from tests.unit.benchmarks.test_peers import A_ROW

SVG = "{http://www.w3.org/2000/svg}"
EARLY = replace(A_ROW, early=1_200, earliest_ms=450, instant_p99=-60)
ABOUT = {
    "at": "2026-11-18T00:00:00+00:00",
    "machine": "a machine",
    "rounds": 3,
    "versions": {"Redis": "7.0"},
    "sizes": {"flow": 5_000, "instant": 2_000, "per_second": 50, "seconds": 20, "callers": 8},
    "slowness": [1.0, 1.24],
    "skipped": {"huey (Redis)": "it failed"},
}


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0.44, "0.4 ms"), (9.96, "10.0 ms"), (12.4, "12 ms"), (-59.4, "-59 ms"), (1_240, "1.2 s"), (float("nan"), "–")],
)
def test_a_duration_has_its_unit(ms: float, text: str) -> None:
    assert duration(ms) == text


def test_each_row_fills_its_columns() -> None:
    assert len(cost_cells("a", A_ROW)) == len(COST)
    assert len(lateness_cells("a", A_ROW)) == len(LATENESS)
    assert cost_cells("a", A_ROW)[-1] == "not counted"
    assert cost_cells("a", replace(A_ROW, syncs=1.103))[-1] == "1.10"
    assert lateness_cells("a", EARLY)[-1] == "1,200, up to 450 ms"


def test_a_table_of_a_page() -> None:
    assert markdown(["a", "b"], [["x", "1"]]) == "| a | b |\n| --- | ---: |\n| x | 1 |"


def test_the_plot_is_an_svg_with_bars_within_its_width() -> None:
    slow = replace(A_ROW, worker_ms=2.0, instant_p99=9_000, steady_p99=float("nan"))
    root = ElementTree.fromstring(plot({"onthedot": A_ROW, "huey <early> & late": EARLY, "slow": slow}))
    widths = [float(bar.attrib["width"]) for bar in root.iter(f"{SVG}rect")]
    assert len(widths) == 3 * 3 + 3 + 3
    assert 0 == min(widths) < max(widths) <= BARS
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "huey <early> & late" in texts
    assert "-60 ms, some early" in texts


def test_the_bars_of_the_plot_are_in_proportion() -> None:
    root = ElementTree.fromstring(plot({"a": A_ROW, "b": replace(A_ROW, client_ms=0.2, worker_ms=0.6, store_ms=0.4)}))
    widths: dict[str, list[float]] = {part: [] for part in ("client", "worker", "store")}
    for bar in root.iter(f"{SVG}rect"):
        if bar.attrib["class"] in widths:
            widths[bar.attrib["class"]].append(float(bar.attrib["width"]))
    assert all(second == pytest.approx(2 * first, abs=0.2) for first, second in widths.values())


def test_a_plot_without_rows_is_drawn() -> None:
    assert not list(ElementTree.fromstring(plot({})).iter(f"{SVG}rect"))


def test_the_measured_part_has_the_run_the_tables_and_the_bars() -> None:
    part = measured_part({"a": A_ROW}, [Bar("CPU", 0.3, 0.5, "ms"), Bar("late", 11, 10, "ms")], ABOUT)
    assert "2026-11-18 on a machine" in part
    assert "Redis 7.0" in part
    assert "1.0–1.2 times" in part
    assert "huey (Redis) (it failed)" in part
    assert "| CPU | 0.3 ms | 0.5 ms | met |" in part
    assert "| late | 11 ms | 10 ms | missed |" in part


def test_only_the_part_between_the_markers_changes() -> None:
    renewed = between_markers(f"before\n{BEGIN}\nold\n{END}\nafter\n", "new")
    assert renewed == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    assert between_markers(renewed, "new") == renewed
    with pytest.raises(ValueError, match="needs the lines"):
        between_markers("a page without markers", "new")


def test_the_page_has_the_markers() -> None:
    assert between_markers(PAGE.read_text(), "") != PAGE.read_text()


def test_the_page_and_its_plot_are_written_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "PAGE", tmp_path / PAGE.name)
    monkeypatch.setattr(page, "PLOT", tmp_path / PLOT.name)
    (tmp_path / PAGE.name).write_text(PAGE.read_text())
    page.write({"a": A_ROW}, [], ABOUT)
    assert f"({PLOT.name})" in (tmp_path / PAGE.name).read_text()
    ElementTree.fromstring((tmp_path / PLOT.name).read_text())
