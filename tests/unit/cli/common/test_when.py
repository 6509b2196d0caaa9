"""Times and durations as people write them, and as commands show them."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import click
import pytest

from onthedot.cli.times import (
    Past,
    PastTime,
    day_and_clock,
    distance,
    exactly,
    in_full,
    in_words,
    read_duration,
    read_when,
)

NOW = datetime(2026, 11, 18, 13, 22, 5, tzinfo=UTC)  # a Wednesday
BERLIN = ZoneInfo("Europe/Berlin")


@pytest.fixture(autouse=True)
def _a_machine_in_new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("10m", 600), ("1h30m", 5400), ("1h 30m", 5400), ("0.5s", 0.5), ("2D", 172_800), ("1w", 604_800)],
)
def test_durations(text: str, seconds: float) -> None:
    found = read_duration(text)
    assert (found, type(found)) == (seconds, type(seconds))


@pytest.mark.parametrize("text", ["", "10x", "-5", "1h30", "1e3", "٣m"])
def test_wrong_durations_say_how(text: str) -> None:
    with pytest.raises(ValueError, match="such as 90, 10m or 1h30m"):
        read_duration(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tomorrow at 9:00", "2026-11-19T09:00:00"),
        ("today 23:59:30", "2026-11-18T23:59:30"),
        ("15:00", "2026-11-18T15:00:00"),
        ("9:00", "2026-11-19T09:00:00"),
        ("9pm", "2026-11-18T21:00:00"),
        ("12am", "2026-11-19T00:00:00"),
        ("12:30 pm", "2026-11-19T12:30:00"),
        ("fri 17:30", "2026-11-20T17:30:00"),
        ("wednesday 9:00", "2026-11-25T09:00:00"),
        ("wed 15:00", "2026-11-18T15:00:00"),
        ("2026-12-24 9:00", "2026-12-24T09:00:00"),
    ],
)
def test_times_in_a_named_zone_have_no_offset(text: str, expected: str) -> None:
    assert read_when(text, "Europe/Berlin", NOW) == expected


def test_times_without_a_zone_are_those_of_this_machine() -> None:
    assert read_when("tomorrow 9:00", None, NOW) == "2026-11-19T09:00:00-05:00"
    assert read_when("2026-07-01 9:00", None, NOW) == "2026-07-01T09:00:00-04:00"


def test_the_day_is_that_of_the_zone() -> None:
    late = datetime(2026, 11, 18, 23, 30, tzinfo=UTC)
    assert read_when("today 9:00", "Asia/Tokyo", late) == "2026-11-19T09:00:00"


@pytest.mark.parametrize(
    "text", ["2026-11-20T09:00:00Z", "2026-11-20T09:00:00+01:00", "at(2026-11-20T09:00:00)", "2026-11-20"]
)
def test_the_api_reads_other_forms_itself(text: str) -> None:
    assert read_when(text, None, NOW) == text


def test_epoch_seconds() -> None:
    assert read_when("1794964738.5", None, NOW) == 1794964738.5


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("soon", "is not a time"),
        ("9", "is not a time"),
        ("someday 9:00", "names no known day"),
        ("2026-02-30 9:00", "names no known day"),
        ("9:61", "is not a time"),
        ("13pm", "hours go from 1 to 12"),
        ("today 9:00", "has passed; it is 14:22 now"),
    ],
)
def test_wrong_times_say_why(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_when(text, "Europe/Berlin", NOW)


@pytest.mark.parametrize("name", ["Mars/Olympus", "../etc/passwd", "\0"])
def test_a_zone_that_does_not_exist(name: str) -> None:
    with pytest.raises(ValueError, match="there is no time zone"):
        read_when("tomorrow 9:00", name, NOW)


def past(text: str) -> PastTime:
    return Past().convert(text, None, None)


def test_the_past_is_a_duration_or_a_time() -> None:
    assert abs(past("12h").at - (datetime.now(UTC) - timedelta(hours=12))) < timedelta(minutes=1)
    assert past("1794964738.5").at == datetime.fromtimestamp(1794964738.5, UTC)
    assert past("1794964738.5").text == "1794964738.5"
    assert past("2026-11-01T00:00:00Z").text == "2026-11-01T00:00:00Z"
    assert past("999999999999w").at.year < 2000
    for wrong in ("x", "12 parsecs", ""):
        with pytest.raises(click.UsageError):
            past(wrong)
    for wrong in ("2026-11-01", "2026-13-01T00:00:00Z", "9" * 30):
        with pytest.raises(click.UsageError):
            assert past(wrong).at


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "less than a second"),
        (1, "1 second"),
        (45, "45 seconds"),
        (100, "100 seconds"),
        (600, "10 minutes"),
        (5400, "90 minutes"),
        (86_400, "24 hours"),
        (200_000, "2 days"),
    ],
)
def test_durations_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


@pytest.mark.parametrize(("seconds", "words"), [(90, "90 seconds"), (900, "15 minutes"), (3600, "hour"), (1, "second")])
def test_intervals_are_exact(seconds: int, words: str) -> None:
    assert exactly(seconds) == words


@pytest.mark.parametrize(
    ("moment", "shown"),
    [
        (NOW, "today 14:22:05 CET, now"),
        (NOW + timedelta(minutes=10), "today 14:32:05 CET, in 10 minutes"),
        (datetime(2026, 11, 19, 8, tzinfo=UTC), "tomorrow 09:00 CET, in 19 hours"),
        (datetime(2026, 11, 17, 8, tzinfo=UTC), "yesterday 09:00 CET, 29 hours ago"),
        (datetime(2027, 7, 1, 8, tzinfo=UTC), "Thu 1 Jul 10:00 CEST, in 225 days"),
        (datetime(2028, 7, 1, 8, tzinfo=UTC), "Sat 1 Jul 2028 10:00 CEST, in 591 days"),
    ],
)
def test_times_for_people(moment: datetime, shown: str) -> None:
    assert in_full(moment, NOW, BERLIN) == shown


def test_dates_without_words() -> None:
    assert day_and_clock(NOW, NOW, BERLIN, words=False) == "Wed 18 Nov 14:22:05"
    assert distance(NOW - timedelta(seconds=30), NOW) == "30 seconds ago"
