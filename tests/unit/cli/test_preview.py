"""`onthedot preview`: a table and a calendar, JSON on demand, and errors with the field's name."""

import json

import pytest
from click.testing import CliRunner, Result

from onthedot.cli.main import main

SPRING = ["--timezone", "Europe/Berlin", "--after", "2026-03-27T12:00:00Z"]


def preview(*arguments: str) -> Result:
    return CliRunner(env={"COLUMNS": "120"}).invoke(main, ["preview", *arguments])


def test_fires_are_shown_by_day_with_what_happens_to_the_clocks() -> None:
    result = preview("30 2 * * *", "--count", "4", *SPRING)
    assert result.exit_code == 0
    assert "Sun 2026-03-29" in result.output
    assert "03:00:00+02:00" in result.output
    assert "02:30 does not exist on this day; runs at 03:00" in " ".join(result.output.split())


def test_a_day_is_named_once_and_a_utc_date_where_it_differs() -> None:
    result = preview("0 8,12 * * *", "--timezone", "Asia/Tokyo", "--after", "2026-03-01T12:00:00Z", "--count", "2")
    assert result.output.count("Mon 2026-03-02") == 1
    assert "2026-03-01 23:00:00" in result.output
    assert "2026-03-02 03:00:00" not in result.output


def test_the_calendar_marks_the_days_of_each_month() -> None:
    result = preview("0 9 30 * *", "--count", "2", *SPRING)
    assert "March 2026" in result.output
    assert "April 2026" in result.output
    assert result.output.count("[30]") == 2
    assert "[29]" not in result.output


def test_the_example_of_the_help_works() -> None:
    result = preview("*/15 9-17 * * mon-fri", "--timezone", "Europe/Berlin", "--count", "20")
    assert result.exit_code == 0
    assert result.output.count("+0") == 20


def test_json_is_what_the_api_answers() -> None:
    result = preview("30 2 * * *", "--count", "2", "--json", "--gap", "skip", *SPRING)
    fires = json.loads(result.output)["fire_times"]
    assert [fire["time"] for fire in fires] == ["2026-03-28T01:30:00.000Z", "2026-03-30T00:30:00.000Z"]
    assert "skipped" in fires[1]["note"]


def test_an_interval_is_shown() -> None:
    result = preview("--every", "90", "--count", "2", "--json", "--after", "2026-03-01T12:00:00Z")
    times = [fire["time"] for fire in json.loads(result.output)["fire_times"]]
    assert times == ["2026-03-01T12:01:30.000Z", "2026-03-01T12:03:00.000Z"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "cron: is missing; give cron or every"),
        (["61 * * * *"], "cron: minute field"),
        (["* * * * *", "--timezone", "Mars"], "timezone: "),
        (["--every", "0"], "every: is too small"),
        (["--every", "5", "--timezone", "UTC"], "timezone: works only with cron"),
        (["--every", "5", "--overlap", "twice"], "dst: works only with cron"),
        (["* * * * *", "--every", "5"], "every: only one of"),
        (["* * * * *", "--count", "0"], "count: is too small"),
        (["* * * * *", "--after", "tomorrow"], "after: is not a time"),
    ],
)
def test_what_is_wrong_is_said_by_its_name_and_fails(arguments: list[str], words: str) -> None:
    result = preview(*arguments)
    assert result.exit_code == 1
    assert words in result.stderr
    assert result.stdout == ""
