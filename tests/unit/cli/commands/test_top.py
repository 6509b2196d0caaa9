"""The live screen is a function of the overview and of the keys."""

import re
from typing import Any

import pytest
from rich.cells import cell_len

from onthedot.cli.operations import top
from onthedot.cli.operations.overview import chart, sections_of
from onthedot.cli.operations.top import Screen, keys_in
from onthedot.cli.times import age, briefly
from tests.unit.cli.overview_document import NOW, an_overview


def a_screen(**parts: Any) -> Screen:
    return Screen(document=an_overview(**parts))


def text(screen: Screen, columns: int = 80, rows: int = 24) -> str:
    return "\n".join(line.text for line, _ in screen.lines(columns, rows, NOW))


def selected(screen: Screen) -> str:
    [line] = [line.text for line, is_selected in screen.lines(80, 40, NOW) if is_selected]
    return line


def pressed(screen: Screen, *names: str) -> Screen:
    for name in names:
        screen.press(name, NOW)
    return screen


def test_one_screen_of_80_columns_has_all_parts() -> None:
    shown = text(a_screen())
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
        "q quit   / filter",
    ):
        assert part in shown


def test_the_summary_is_never_cut() -> None:
    message = " ".join(["A run waits at a gate that is full."] * 12)
    shown = text(a_screen(summary={"state": "held_up", "message": message}), rows=40)
    assert " ".join(shown.split()).count("A run waits at a gate that is full.") == 12


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 10), (20, 5), (200, 60)])
def test_no_line_is_wider_and_no_screen_higher_than_the_terminal(columns: int, rows: int) -> None:
    explaining = a_screen()
    explaining.explanation = ["word " * 40]
    for screen in (a_screen(), explaining):
        shown = screen.lines(columns, rows, NOW)
        assert len(shown) <= rows
        assert max(cell_len(line.text) for line, _ in shown) <= columns


def test_a_part_that_is_not_known_hides_no_other() -> None:
    shown = text(a_screen(queues=None, hour=None, unknown=["queues", "hour"]))
    assert shown.count("not known now") == 2
    assert "remind-17" in shown
    for part in ("hour", "queues", "workers", "due", "next", "failures", "hold_ups", "summary"):
        document = an_overview()
        del document[part]
        assert sections_of(document, NOW)


def test_an_idle_stage() -> None:
    quiet = {"alive": 0, "silent": 0, "running": 0, "concurrency": 0}
    empty = [{"pool": "default", "priority": "HIGH", "waiting": 0, "delayed": 0, "in_flight": 0, "dead_letters": 0}]
    shown = text(
        a_screen(due=[], workers=quiet, queues=empty, failures=[], next=[], hold_ups=[], tick_age_seconds=None)
    )
    for part in ("nothing in the next hour", "no pull workers", "all are empty", "no tick yet"):
        assert part in shown


def test_names_cannot_control_the_terminal() -> None:
    screen = a_screen(failures=[{"job_id": "job_a", "name": "a\x1b[2Jb", "error": "x\ny", "finished_at": None}])
    assert "\x1b" not in text(screen)


def test_the_arrow_keys_select_a_line_and_stop_at_the_ends() -> None:
    screen = a_screen()
    assert "gate stripe" in selected(screen)
    assert "gate stripe" in selected(pressed(screen, top.UP))
    assert "default high" in selected(pressed(screen, top.DOWN))
    assert "remind-17" in selected(pressed(screen, *[top.DOWN] * 20))
    assert "report" in selected(pressed(screen, top.UP))


def test_a_filter_leaves_the_lines_with_its_text() -> None:
    screen = pressed(a_screen(), "/", *"REMX")
    assert "/REMX█" in text(screen)
    pressed(screen, top.BACKSPACE, top.ENTER)
    assert "filter: REM" in text(screen)
    assert "remind-17" in selected(screen)
    assert "gate stripe" not in text(screen)
    assert "p50" in text(screen), "facts are not filtered"
    assert "gate stripe" in text(pressed(screen, top.ESCAPE))


def test_q_is_a_letter_of_a_filter_and_ends_the_screen_otherwise() -> None:
    assert not pressed(a_screen(), "/", "q").is_over
    assert pressed(a_screen(), "q").is_over
    assert pressed(a_screen(), top.END).is_over


def test_enter_explains_a_job_or_shows_the_whole_line() -> None:
    assert pressed(a_screen(), top.ENTER).explains == "job_held"
    queue = pressed(a_screen(), top.DOWN, top.ENTER)
    assert queue.explains is None
    assert "any key: back" in text(queue)
    assert pressed(queue, "x").explanation is None
    nothing = pressed(a_screen(hold_ups=[], queues=[], next=[], failures=[]), top.ENTER, top.DOWN)
    assert (nothing.explains, nothing.explanation, nothing.place) == (None, None, 0)


def test_an_api_that_fails_is_shown_above_the_last_answer() -> None:
    screen = a_screen()
    screen.failure = "http://x cannot be reached"
    assert text(screen).startswith("http://x cannot be reached")
    assert "remind-17" in text(screen)
    assert "Waiting for the API" in text(Screen())


def test_more_lines_than_fit_are_counted_and_the_selected_one_is_shown() -> None:
    many = [{"job_id": f"job_{n}", "name": f"n-{n}", "fire_time": "2026-11-18T12:01:00Z"} for n in range(50)]
    screen = a_screen(next=many)
    assert re.search(r"… \d+ more lines", text(screen))
    pressed(screen, *[top.DOWN] * 30)
    assert sum(is_selected for _, is_selected in screen.lines(80, 24, NOW)) == 1


def test_the_bytes_of_keys() -> None:
    for data, found in (
        (b"q", ["q"]),
        (b"\x1b[A\x1b[B", [top.UP, top.DOWN]),
        (b"\x1b", [top.ESCAPE]),
        (b"\r\x7f", [top.ENTER, top.BACKSPACE]),
        ("é日".encode(), ["é", "日"]),
        (b"\x1b[5~a", ["a"]),
        (b"\x00\xff", []),
        (b"\x04", [top.END]),
    ):
        assert keys_in(data) == found, data


def test_numbers() -> None:
    assert [briefly(value) for value in (0, 0.088, 1.24, 59.9, 119, 120, 7_200, 2e5)] == [
        *("0 ms", "88 ms", "1.2 s", "59.9 s", "119 s", "2 min", "2 h", "2 d"),
    ]
    assert [age(value) for value in (14, 119, 540, 7_200)] == ["14 s", "119 s", "9 min", "2 h"]
    assert chart([0, 1, 8]) == " ▁█"
    assert chart([]) == chart([0]).strip() == ""
