"""Simple cron expressions in words, checked against their own fire times."""

import pytest

from onthedot.cli.jobs.preview import read_options
from onthedot.cli.times import cron_in_words
from onthedot.core.clock import moment_of
from onthedot.schedules.preview import preview

MONDAY = 1_794_787_200_000  # 2026-11-16T00:00:00Z


def fires(expression: str, count: int) -> list[str]:
    schedule, after = read_options(MONDAY, cron=expression, after="2026-11-15T23:59:59Z")
    return [f"{moment_of(fire.at):%a %d %H:%M}" for fire in preview(schedule, after, count)]


@pytest.mark.parametrize(
    ("expression", "words", "first"),
    [
        ("0 9 * * mon-fri", "at 09:00 on weekdays", ["Mon 16 09:00", "Tue 17 09:00"]),
        ("5 0 * * 1-5", "at 00:05 on weekdays", ["Mon 16 00:05", "Tue 17 00:05"]),
        ("30 17 * * *", "at 17:30 every day", ["Mon 16 17:30", "Tue 17 17:30"]),
        ("0 9 * * WED", "at 09:00 on Wednesdays", ["Wed 18 09:00", "Wed 25 09:00"]),
        ("0 9 * * 0", "at 09:00 on Sundays", ["Sun 22 09:00", "Sun 29 09:00"]),
        ("0 9 * * 7", "at 09:00 on Sundays", ["Sun 22 09:00", "Sun 29 09:00"]),
        ("0 9 1 * *", "at 09:00 on day 1 of the month", ["Tue 01 09:00", "Fri 01 09:00"]),
        ("* * * * *", "every minute", ["Mon 16 00:00", "Mon 16 00:01"]),
        ("*/15 * * * *", "every 15 minutes", ["Mon 16 00:00", "Mon 16 00:15"]),
        ("0/20 * * * *", "every 20 minutes", ["Mon 16 00:00", "Mon 16 00:20"]),
        ("0 * * * *", "every hour", ["Mon 16 00:00", "Mon 16 01:00"]),
        ("7 * * * *", "7 minutes past every hour", ["Mon 16 00:07", "Mon 16 01:07"]),
        ("@daily", "at 00:00 every day", ["Mon 16 00:00", "Tue 17 00:00"]),
        ("@hourly", "every hour", ["Mon 16 00:00", "Mon 16 01:00"]),
    ],
)
def test_words(expression: str, words: str, first: list[str]) -> None:
    assert cron_in_words(expression) == words
    assert fires(expression, 2) == first


@pytest.mark.parametrize(
    "expression",
    [
        *("*/7 * * * *", "0 9 1 * mon", "0 9 * 1 *", "0 9,17 * * *", "H H * * *", "cron(0 9 ? * 2 *)", "0 9 L * *"),
        *("0 9 * * 5L", "0 9 * * mon-tue", "*/1 * * * *", "@weekly", ""),
    ],
)
def test_others_stay_as_they_are(expression: str) -> None:
    assert cron_in_words(expression) == expression
