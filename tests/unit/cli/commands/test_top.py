"""The screen of `onthedot overview` and `top` is a function of the overview."""

from typing import Any

import pytest
from rich.cells import cell_len

from onthedot.cli.operations.overview import chart, screen_of, sections_of
from onthedot.cli.times import age, briefly
from tests.unit.cli.overview_document import NOW, an_overview


@pytest.fixture(autouse=True)
def _80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def text(failure: str | None = None, **parts: Any) -> str:
    return screen_of(an_overview(**parts), failure, NOW).plain


def test_one_screen_of_80_columns_has_all_parts() -> None:
    shown = text()
    for part in (
        "onthedot   prod   acme   last tick 14 s ago",
        "12,322 runs in the last hour, 23 failed.",
        "12,299 succeeded, 23 failed, 4 skipped; 31 retries",
        "p50 4 ms, p99 88 ms, max 1.2 s",
        "59/min",
        "3 alive, 1 silent, ",
        "runs in the next hour",
        "3 runs wait at gate stripe",
        "default high  3 waiting, the oldest for 9 min, 2 in flight",
        "batch         it was not asked in time",
        "remind-17  HTTP 503 after 4 attempts",
        "q quits",
    ):
        assert part in shown
    assert len(shown.splitlines()) <= 24


def test_the_summary_is_never_cut() -> None:
    message = " ".join(["A run waits at a gate that is full."] * 12)
    shown = text(summary={"state": "held_up", "message": message})
    assert " ".join(shown.split()).count("A run waits at a gate that is full.") == 12


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_no_line_is_wider_than_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert max(map(cell_len, text().splitlines())) <= columns


def test_a_part_that_is_not_known_hides_no_other() -> None:
    shown = text(queues=None, hour=None, unknown=["queues", "hour"])
    assert shown.count("not known now") == 2
    assert "remind-17" in shown
    for part in ("hour", "queues", "workers", "due", "next", "failures", "hold_ups", "summary"):
        document = an_overview()
        del document[part]
        assert sections_of(document, NOW)


def test_an_idle_stage() -> None:
    quiet = {"alive": 0, "silent": 0, "running": 0, "concurrency": 0}
    empty = [{"pool": "default", "priority": "HIGH", "waiting": 0, "delayed": 0, "in_flight": 0, "dead_letters": 0}]
    shown = text(due=[], workers=quiet, queues=empty, failures=[], next=[], hold_ups=[], tick_age_seconds=None)
    for part in ("nothing in the next hour", "no pull workers", "all are empty", "no tick yet"):
        assert part in shown


def test_names_cannot_control_the_terminal() -> None:
    failures = [{"job_id": "job_a", "name": "a\x1b[2Jb", "error": "x\ny", "finished_at": None}]
    assert "\x1b" not in text(failures=failures)


def test_an_api_that_fails_is_shown_above_the_last_answer() -> None:
    shown = text("http://x cannot be reached")
    assert shown.startswith("http://x cannot be reached\n")
    assert "remind-17" in shown


def test_numbers() -> None:
    assert [briefly(value) for value in (0, 0.088, 1.24, 59.9, 119, 120, 7_200, 2e5)] == [
        *("0 ms", "88 ms", "1.2 s", "59.9 s", "119 s", "2 min", "2 h", "2 d"),
    ]
    assert [age(value) for value in (14, 119, 540, 7_200)] == ["14 s", "119 s", "9 min", "2 h"]
    assert chart([0, 1, 8]) == " ▁█"
    assert chart([]) == chart([0]).strip() == ""
