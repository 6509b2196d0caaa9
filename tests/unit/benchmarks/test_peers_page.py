"""The page and the plot of the benchmark beside other tools."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.common import Bar
from benchmarks.peers import page
from benchmarks.peers.page import (
    BARS,
    PAGE,
    PLOT,
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


def test_the_plot_is_an_svg_with_bars_within_its_width() -> None:
    slow = replace(A_ROW, worker_ms=2.0, instant_p99=9_000, steady_p99=float("nan"))
    root = ElementTree.fromstring(plot({"onthedot": A_ROW, "huey <early> & late": EARLY, "slow": slow}))
    widths = [float(bar.attrib["width"]) for bar in root.iter(f"{SVG}rect")]
    assert len(widths) == 3 * 3 + 3 + 3
    assert 0 == min(widths) < max(widths) <= BARS
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert "huey <early> & late" in texts
    assert "-60 ms, some early" in texts


def test_the_measured_part_has_the_run_the_tables_and_the_bars() -> None:
    part = measured_part({"a": A_ROW}, [Bar("CPU", 0.3, 0.5, "ms"), Bar("late", 11, 10, "ms")], ABOUT)
    assert "2026-11-18 on a machine" in part
    assert "Redis 7.0" in part
    assert "1.0–1.2 times" in part
    assert "huey (Redis) (it failed)" in part
    assert "| CPU | 0.3 ms | 0.5 ms | met |" in part
    assert "| late | 11 ms | 10 ms | missed |" in part


def test_the_page_and_its_plot_are_written_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "PAGE", tmp_path / PAGE.name)
    monkeypatch.setattr(page, "PLOT", tmp_path / PLOT.name)
    (tmp_path / PAGE.name).write_text(PAGE.read_text())
    page.write({"a": A_ROW}, [], ABOUT)
    assert f"({PLOT.name})" in (tmp_path / PAGE.name).read_text()
    ElementTree.fromstring((tmp_path / PLOT.name).read_text())
