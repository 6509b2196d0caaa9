"""The bar of `onthedot export` grows with each page, and is full at the end."""

import io
from typing import Any

import pytest
from rich.console import Console
from rich.progress import Progress

from onthedot.cli.transfer.export_bar import ExportBar


@pytest.fixture
def drawn() -> Progress:
    return Progress(console=Console(file=io.StringIO()))


def steps(drawn: Progress, *pages: dict[str, Any]) -> list[tuple[float, float | None]]:
    """How much of how much the bar shows: at the start, after each page and at the end."""
    bar, found = ExportBar(drawn), []
    [task] = drawn.tasks
    found.append((task.completed, task.total))
    for page in pages:
        bar.add(page, 1_234)
        found.append((task.completed, task.total))
    bar.fill()
    return [*found, (task.completed, task.total)]


def test_it_has_a_total_once_the_first_page_came(drawn: Progress) -> None:
    pages = {"read": 40, "about_total": 100}, {"read": 40, "about_total": None}, {"read": 10, "about_total": None}
    assert steps(drawn, *pages) == [(0, None), (40, 100), (80, 100), (90, 100), (90, 90)]
    assert drawn.tasks[0].description == "1,234 entries"
    assert drawn.finished


def test_the_total_grows_if_there_is_more(drawn: Progress) -> None:
    pages = {"read": 40, "about_total": 50}, {"read": 40, "about_total": None}, {"read": 30, "about_total": None}
    assert steps(drawn, *pages) == [(0, None), (40, 50), (80, 80), (110, 110), (110, 110)]


def test_without_a_total_it_is_full_at_the_end_only(drawn: Progress) -> None:
    assert steps(drawn, {"read": 40, "about_total": None}) == [(0, None), (40, None), (40, 40)]


def test_a_stage_of_an_earlier_version_and_an_empty_one_fill_it_too(drawn: Progress) -> None:
    assert steps(drawn, {}, {"read": 0, "about_total": 0}) == [(0, None), (0, None), (0, None), (1, 1)]
    assert drawn.tasks[0].percentage == 100
