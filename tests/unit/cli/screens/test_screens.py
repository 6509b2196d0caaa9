"""The live screen is a function of the overview and of the keys."""

import re
from dataclasses import replace
from typing import Any

import pytest

from onthedot.cli.common.tables import width
from onthedot.cli.screens import keys
from onthedot.cli.screens.control import View, lines, press
from onthedot.cli.screens.frame import shown_rows
from onthedot.cli.screens.keys import read_keys
from onthedot.cli.screens.numbers import chart, short_ms, short_seconds
from onthedot.cli.screens.sections import sections_of
from tests.unit.cli.screens.documents import NOW, an_overview


def a_view(**parts: Any) -> View:
    return View(document=an_overview(**parts))


def text(view: View, columns: int = 80, rows: int = 24) -> str:
    return "\n".join(line.text for line in lines(view, columns, rows, NOW))


def chosen(view: View) -> str:
    [line] = [line.text for line in lines(view, 80, 40, NOW) if line.selected]
    return line


def pressed(view: View, *names: str) -> View:
    for name in names:
        view = press(view, name, NOW)
    return view


def test_one_screen_of_80_columns_has_all_parts() -> None:
    shown = text(a_view())
    for part in (
        "onthedot   prod   acme   last tick 14 s ago",
        "12,322 runs in the last hour, 23 failed.",
        "12,299 succeeded, 23 failed, 4 skipped; 31 retries",
        "late by p50 4 ms, p99 88 ms, most 1.2 s",
        "59/min",
        "3 alive, 1 silent, 12 of 30 places used",
        "runs in the next hour",
        "3 runs wait at gate stripe",
        "default high  3 waiting, the oldest for 9 min, 2 in flight",
        "batch         it was not asked in time",
        "remind-17  HTTP 503 after 4 attempts",
        "q quit   / filter",
    ):
        assert part in shown


def test_one_coming_run_is_one_run() -> None:
    due = [{"time": "2026-11-18T12:05:00.000Z", "runs": 1}, {"time": "2026-11-18T12:06:00.000Z", "runs": 0}]
    assert "1 run in the next hour, at " in text(a_view(due=due))


def test_the_summary_is_never_cut() -> None:
    message = " ".join(["A run waits at a gate that is full."] * 12)
    shown = text(a_view(summary={"state": "held_up", "message": message}), rows=40)
    assert "characters)" not in shown
    assert " ".join(shown.split()).count("A run waits at a gate that is full.") == 12


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 10), (20, 5), (200, 60)])
def test_no_line_is_wider_and_no_screen_higher_than_the_terminal(columns: int, rows: int) -> None:
    shown = lines(a_view(), columns, rows, NOW)
    assert len(shown) <= rows
    assert max(width(line.text) for line in shown) <= columns


def test_a_part_that_is_not_known_hides_no_other() -> None:
    shown = text(a_view(queues=None, hour=None, unknown=["queues", "hour"]))
    assert shown.count("not known now") == 2
    assert "remind-17" in shown


@pytest.mark.parametrize("part", ["hour", "queues", "workers", "due", "next", "failures", "hold_ups", "summary"])
def test_an_answer_without_a_part_is_shown_too(part: str) -> None:
    document = an_overview()
    del document[part]
    assert sections_of(document, NOW)


def test_an_idle_stage() -> None:
    quiet = {"alive": 0, "silent": 0, "running": 0, "concurrency": 0}
    shown = text(a_view(due=[], workers=quiet, queues=[], failures=[], next=[], hold_ups=[], tick_age_seconds=None))
    assert "nothing in the next hour" in shown
    assert "no pull worker" in shown
    assert "no tick yet" in shown


def test_empty_queues_take_one_line() -> None:
    empty = {
        "pool": "default",
        "waiting": 0,
        "delayed": 0,
        "in_flight": 0,
        "oldest_age_seconds": None,
        "dead_letters": 0,
    }
    queues = [{**empty, "priority": name} for name in ("HIGH", "MEDIUM", "LOW")]
    assert "Queues\n  all are empty\n" in text(a_view(queues=queues))
    shown = text(a_view(queues=[*queues, {**empty, "priority": None, "delayed": 1}]))
    assert "default  0 waiting, 0 in flight" in shown
    assert "all are empty" not in shown


def test_names_cannot_control_the_terminal() -> None:
    view = a_view(failures=[{"job_id": "job_a", "name": "a\x1b[2Jb", "error": "x\ny", "finished_at": None}])
    assert "\x1b" not in text(view)


def test_the_arrow_keys_choose_a_line_and_stop_at_the_ends() -> None:
    view = a_view()
    count = len(shown_rows(view.sections(NOW), ""))
    assert "gate stripe" in chosen(view)
    assert "gate stripe" in chosen(pressed(view, keys.UP))
    assert "default high" in chosen(pressed(view, keys.DOWN))
    assert "remind-17" in chosen(pressed(view, *[keys.DOWN] * (count + 3)))
    assert "report" in chosen(pressed(view, *[keys.DOWN] * (count + 3), keys.UP))


def test_a_filter_leaves_the_lines_with_its_text() -> None:
    view = pressed(a_view(), "/", *"REMX")
    assert "/REMX█" in text(view)
    view = pressed(view, keys.BACKSPACE, keys.ENTER)
    assert "filter: REM" in text(view)
    assert "remind-17" in chosen(view)
    assert "gate stripe" not in text(view)
    assert "p50" in text(view), "facts are not filtered"
    assert "gate stripe" in text(pressed(view, keys.ESCAPE))


def test_q_is_a_letter_of_a_filter_and_ends_the_screen_otherwise() -> None:
    assert not pressed(a_view(), "/", "q").is_over
    assert pressed(a_view(), "q").is_over
    assert pressed(a_view(), keys.END).is_over


def test_enter_explains_a_job_or_shows_the_whole_line() -> None:
    assert pressed(a_view(), keys.ENTER).explains == "job_held"
    queue = pressed(a_view(), keys.DOWN, keys.ENTER)
    assert queue.explains is None
    assert "any key: back" in text(queue)
    assert pressed(queue, "x").explanation is None
    nothing = replace(a_view(hold_ups=[], queues=[], next=[], failures=[]))
    assert pressed(nothing, keys.ENTER, keys.DOWN) == replace(nothing, place=0)


def test_an_explanation_is_wrapped() -> None:
    view = replace(a_view(), explanation=["word " * 40])
    assert max(len(line.text) for line in lines(view, 40, 24, NOW)) <= 40


def test_an_api_that_fails_is_shown_above_the_last_answer() -> None:
    shown = text(replace(a_view(), failure="http://x cannot be reached"))
    assert shown.startswith("http://x cannot be reached")
    assert "remind-17" in shown
    assert "Waiting for the API" in text(View())


def test_more_lines_than_fit_are_counted_and_the_chosen_one_is_shown() -> None:
    many = [{"job_id": f"job_{n}", "name": f"n-{n}", "fire_time": "2026-11-18T12:01:00Z"} for n in range(50)]
    view = a_view(next=many)
    assert re.search(r"… \d+ more lines", text(view))
    down = pressed(view, *[keys.DOWN] * 30)
    assert sum(line.selected for line in lines(down, 80, 24, NOW)) == 1


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"q", ["q"]),
        (b"\x1b[A\x1b[B", [keys.UP, keys.DOWN]),
        (b"\x1bOA", [keys.UP]),
        (b"\x1b", [keys.ESCAPE]),
        (b"\r\x7f", [keys.ENTER, keys.BACKSPACE]),
        ("é日".encode(), ["é", "日"]),
        (b"\x1b[5~a", ["a"]),
        (b"\x1b[1;5Cb", ["b"]),
        (b"\x1b[", []),
        (b"\x00\xff", []),
        (b"\x04", [keys.END]),
    ],
)
def test_the_bytes_of_keys(data: bytes, found: list[str]) -> None:
    assert read_keys(data) == found


def test_numbers() -> None:
    assert [short_ms(value) for value in (None, 0, 88, 1_234, 600_000)] == ["-", "0 ms", "88 ms", "1.2 s", "10 min"]
    assert [short_seconds(value) for value in (None, 14, 119, 540, 7_200)] == ["-", "14 s", "119 s", "9 min", "2 h"]
    assert chart([0, 1, 8]) == " ▁█"
    assert chart([]) == chart([0]).strip() == ""
