"""`onthedot preview` shows a table and a calendar, or JSON, and names the wrong option."""

import json
import re
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from onthedot.cli.main import main
from onthedot.core.errors import InvalidRequest
from onthedot.schedules.api import read_preview
from tests.builders import NOON

SPRING = ["--timezone", "Europe/Berlin", "--after", "2026-03-27T12:00:00Z"]


def preview(*arguments: str, **environment: str) -> Result:
    return CliRunner(env={"COLUMNS": "120", **environment}).invoke(main, ["preview", *arguments])


def for_people(*arguments: str, columns: int = 120) -> str:
    return click.unstyle(preview(*arguments, FORCE_COLOR="1", COLUMNS=str(columns)).output)


def test_fires_are_shown_by_day_with_what_happens_to_the_clocks() -> None:
    result = preview("30 2 * * *", "--count", "4", *SPRING)
    assert result.exit_code == 0
    assert "Sun 2026-03-29" in result.output
    assert "03:00:00+02:00" in result.output
    assert "02:30 does not exist on this day; runs at 03:00" in " ".join(result.output.split())


def test_a_day_is_named_once_and_a_utc_date_where_it_differs() -> None:
    shown = for_people("0 8,12 * * *", "--timezone", "Asia/Tokyo", "--after", "2026-03-01T12:00:00Z", "--count", "2")
    assert shown.count("Mon 2026-03-02") == 1
    assert "2026-03-01 23:00:00" in shown
    assert "2026-03-02 03:00:00" not in shown


def test_a_note_is_not_cut_on_a_narrow_terminal() -> None:
    shown = for_people("30 2 * * *", "--count", "4", *SPRING, columns=80)
    assert "02:30 does not exist on this day; runs at 03:00" in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= 80


def test_a_pipe_gets_tabs_and_each_date_and_no_calendar() -> None:
    header, *rows = [line.split("\t") for line in preview("0 8,12 * * *", "--count", "4", *SPRING).output.splitlines()]
    assert header == ["DATE", "LOCAL TIME", "UTC", "NOTE"]
    assert [row[0] for row in rows] == ["Sat 2026-03-28"] * 2 + ["Sun 2026-03-29"] * 2


def test_the_calendar_marks_the_days_of_each_month() -> None:
    shown = for_people("0 9 30 * *", "--count", "2", *SPRING)
    assert re.search("March 2026 +April 2026\n", shown), "they stand beside each other"
    assert shown.count("[30]") == 2
    assert "[29]" not in shown
    narrow = for_people("0 9 30 * *", "--count", "2", *SPRING, columns=40)
    assert re.search(r"March 2026\n(.*\n)+ +April 2026\n", narrow)


def test_an_interval_is_shown() -> None:
    result = preview("--every", "90", "--count", "2", "--json", "--after", "2026-03-01T12:00:00Z")
    times = [fire["time"] for fire in json.loads(result.output)["fire_times"]]
    assert times == ["2026-03-01T12:01:30.000Z", "2026-03-01T12:03:00.000Z"]


def test_expressions_of_eventbridge_are_shown() -> None:
    result = preview("cron(0 18 ? * 2-6 *)", "--count", "1", "--json", "--after", "2026-03-01T12:00:00Z")
    assert [fire["time"] for fire in json.loads(result.output)["fire_times"]] == ["2026-03-02T18:00:00.000Z"]
    result = preview("--every", "rate(5 minutes)", "--count", "1", "--json", "--after", "2026-03-01T12:00:00Z")
    assert [fire["time"] for fire in json.loads(result.output)["fire_times"]] == ["2026-03-01T12:05:00.000Z"]


def test_an_h_is_shown_by_an_example() -> None:
    answer = json.loads(preview("H 9 * * *", "--count", "1", "--json", "--after", "2026-03-01T12:00:00Z").output)
    assert answer == read_preview({"cron": "H 9 * * *", "count": 1, "after": "2026-03-01T12:00:00Z"}, NOON)
    assert f": {answer['example']}" in " ".join(preview("H 9 * * *").output.split())


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"every": "rate(2 weeks)"},
        {"cron": "61 * * * *"},
        {"every": 0},
        {"every": 10**9},
        {"every": 5, "timezone": "UTC"},
        {"every": 5, "dst": {"overlap": "twice"}},
        {"cron": "* * * * *", "every": 5},
        {"cron": "* * * * *", "count": 1001},
        {"cron": "* * * * *", "after": "1969-12-31T00:00:00Z"},
        {"cron": "* * * * *", "after": "9999-12-31T00:00:00Z"},
        {"cron": "0 0 30 2 *", "timezone": "", "count": -1, "after": "2030-01-31T09:30:00"},
    ],
    ids=str,
)
def test_wrong_options_are_named_in_the_words_of_the_api(document: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_preview(document, now=NOON)
    values = {**document, **document.get("dst", {})}
    cron = [values["cron"]] if "cron" in values else []
    options = [f"--{name}={value}" for name, value in values.items() if name not in {"cron", "dst"}]
    result = preview(*cron, *options)
    assert result.exit_code == 3
    said = result.stderr.removeprefix("Error: ").splitlines()
    assert said == [f"{problem.field}: {problem.message}" for problem in refused.value.problems]
    assert result.stdout == ""


def test_the_expression_may_be_an_option_as_of_schedule() -> None:
    asked = ["--count", "3", *SPRING]
    assert preview("--cron", "30 2 * * *", *asked).output == preview("30 2 * * *", *asked).output
    both = preview("--cron", "30 2 * * *", "0 9 * * *")
    assert (both.exit_code, "give EXPRESSION or --cron, not both" in both.output) == (2, True)
