"""Previews: local time and what a change of the clocks does, in words."""

from hypothesis import given, settings

from onthedot.schedules.choices import DstPolicy, Gap, Overlap
from onthedot.schedules.preview import FireTime, preview
from onthedot.schedules.schedule import CronSchedule, EverySchedule, Schedule, fires_between
from tests.unit.domain.schedules.oracle import ms, utc
from tests.unit.domain.schedules.strategies import instants, schedules

BERLIN = "Europe/Berlin"
SKIP = DstPolicy(gap=Gap.SKIP)
TWICE = DstPolicy(overlap=Overlap.TWICE)


def seen(
    expression: str, after: str, count: int, timezone: str = BERLIN, dst: DstPolicy | None = None
) -> dict[str, str | None]:
    schedule = Schedule(CronSchedule(expression, timezone, dst or DstPolicy()))
    return {fire.local: fire.note for fire in preview(schedule, ms(utc(after)), count)}


@settings(deadline=None)
@given(schedules(), instants)
def test_a_preview_lists_the_fires_and_nothing_else(schedule: Schedule, after: int) -> None:
    assert [fire.at for fire in preview(schedule, after, 5)] == fires_between(schedule, after, 10**15, 5)


def test_a_missing_time_says_when_it_runs() -> None:
    assert seen("30 2 * * *", "2026-03-28T12:00", 2) == {
        "2026-03-29T03:00:00+02:00": "02:30 does not exist on this day; runs at 03:00",
        "2026-03-30T02:30:00+02:00": None,
    }


def test_several_missing_times_run_once() -> None:
    assert seen("*/15 2 * * *", "2026-03-28T12:00", 1) == {
        "2026-03-29T03:00:00+02:00": "02:00, 02:15, 02:30 and 1 more do not exist on this day; run once, at 03:00"
    }
    assert seen("0,30 2 * * *", "2026-03-28T12:00", 1) == {
        "2026-03-29T03:00:00+02:00": "02:00 and 02:30 do not exist on this day; run once, at 03:00"
    }


def test_a_missing_day_is_named() -> None:
    assert seen("0 9 * * *", "2011-12-29T20:00", 2, "Pacific/Apia") == {
        "2011-12-31T00:00:00+14:00": "09:00 does not exist on 2011-12-30; runs at 00:00",
        "2011-12-31T09:00:00+14:00": None,
    }


def test_a_skipped_time_stands_with_the_fire_after_it() -> None:
    assert seen("30 2 * * *", "2026-03-28T12:00", 2, dst=SKIP) == {
        "2026-03-30T02:30:00+02:00": "02:30 does not exist on 2026-03-29; skipped",
        "2026-03-31T02:30:00+02:00": None,
    }


def test_a_skipped_time_stands_with_a_fire_at_the_same_instant() -> None:
    assert seen("0 2,3 * * *", "2026-03-28T12:00", 1, dst=SKIP) == {
        "2026-03-29T03:00:00+02:00": "02:00 does not exist on 2026-03-29; skipped"
    }


def test_a_repeated_time_says_that_it_runs_once() -> None:
    assert seen("30 2 * * *", "2026-10-24T12:00", 2) == {
        "2026-10-25T02:30:00+02:00": "02:30 happens twice on this day; this is the first, and the second does not run",
        "2026-10-26T02:30:00+01:00": None,
    }


def test_a_repeated_time_says_which_it_is() -> None:
    assert seen("30 2 * * *", "2026-10-24T12:00", 2, dst=TWICE) == {
        "2026-10-25T02:30:00+02:00": "02:30 happens twice on this day; this is the first",
        "2026-10-25T02:30:00+01:00": "02:30 happens twice on this day; this is the second",
    }


def test_every_hour_follows_elapsed_time_and_says_why_clocks_differ() -> None:
    assert seen("30 * * * *", "2026-03-29T00:00", 3) == {
        "2026-03-29T01:30:00+01:00": None,
        "2026-03-29T03:30:00+02:00": "clocks go forward from 2026-03-29 02:00 to 2026-03-29 03:00 before this",
        "2026-03-29T04:30:00+02:00": None,
    }
    assert seen("0 * * * *", "2026-10-24T23:30", 3) == {
        "2026-10-25T02:00:00+02:00": "02:00 happens twice on this day; this is the first",
        "2026-10-25T02:00:00+01:00": "02:00 happens twice on this day; this is the second",
        "2026-10-25T03:00:00+01:00": None,
    }


def test_changes_of_the_clocks_before_the_start_are_not_told() -> None:
    hourly = Schedule(CronSchedule("30 * * * *", BERLIN), start_at=ms(utc("2027-10-30T23:00")))
    assert [fire.note for fire in preview(hourly, ms(utc("2026-11-18T12:00")), 1)] == [None]
    nightly = Schedule(CronSchedule("30 2 * * *", BERLIN, SKIP), start_at=ms(utc("2027-06-01T00:00")))
    assert [fire.note for fire in preview(nightly, ms(utc("2026-11-18T12:00")), 1)] == [None]


def test_a_change_of_the_clocks_after_the_start_is_told() -> None:
    hourly = Schedule(CronSchedule("30 * * * *", BERLIN), start_at=ms(utc("2027-03-28T00:45")))
    [fire] = preview(hourly, ms(utc("2026-11-18T12:00")), 1)
    assert fire.note == "clocks go forward from 2027-03-28 02:00 to 2027-03-28 03:00 before this"


def test_intervals_are_shown_in_utc() -> None:
    start = ms(utc("2026-03-29T00:00"))
    assert preview(Schedule(EverySchedule(90, start)), start - 1, 2) == [
        FireTime(start, "2026-03-29T00:00:00+00:00"),
        FireTime(start + 90_000, "2026-03-29T00:01:30+00:00"),
    ]
    assert preview(Schedule(EverySchedule(90, start + 5)), start, 1)[0].local == "2026-03-29T00:00:00.005+00:00"
