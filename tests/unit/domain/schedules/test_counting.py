"""Counts and last times agree with the fire times one by one, and cost little however many these are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.schedules import counting
from onthedot.schedules.choices import DstPolicy, Gap, Overlap
from onthedot.schedules.counting import count_fires, last_fire
from onthedot.schedules.schedule import CronSchedule, EverySchedule, Schedule, fires_between, next_fire
from tests.builders import NOON
from tests.unit.domain.schedules.strategies import instants, schedules

DAY = 86_400_000
YEAR = 365 * DAY
policies = st.builds(DstPolicy, st.sampled_from(Gap), st.sampled_from(Overlap))
zones = st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns", "Africa/Casablanca"])
often = st.sampled_from(
    ["*/7 * * * *", "15,45 * * * *", "*/20 1-4 * * *", "30 2 * * *", "0 0-6 * * 0", "*/30 */2 L * *", "0 1-3 29 2,3 *"]
)


@settings(max_examples=150, deadline=None)
@given(schedules(), instants, st.integers(1, 40 * DAY))
def test_a_count_is_the_number_of_fire_times(schedule: Schedule, after: int, length: int) -> None:
    fires = fires_between(schedule, after, after + length, 10_000)
    if len(fires) < 10_000:
        assert count_fires(schedule, after, after + length) == len(fires)
    else:
        assert count_fires(schedule, after, fires[-1] + 1) == len(fires)


@settings(max_examples=150, deadline=None)
@given(often, zones, policies, st.integers(-2 * YEAR, 2 * YEAR), st.integers(1, 400 * DAY))
def test_a_count_goes_through_changes_of_the_clocks(
    expression: str, zone: str, dst: DstPolicy, start: int, length: int
) -> None:
    schedule = Schedule(CronSchedule(expression, zone, dst))
    fires = fires_between(schedule, NOON + start, NOON + start + length, 100_000)
    assert count_fires(schedule, NOON + start, NOON + start + length) == len(fires)


@pytest.mark.parametrize("overlap", Overlap)
@pytest.mark.parametrize("gap", Gap)
@pytest.mark.parametrize("expression", ["30 2 * * *", "0,30 2,3 * * *", "45 2 * 3,10 0"])
def test_a_count_knows_what_clocks_jump_over_and_show_twice(expression: str, gap: Gap, overlap: Overlap) -> None:
    schedule = Schedule(CronSchedule(expression, "Europe/Berlin", DstPolicy(gap, overlap)))
    fires = fires_between(schedule, NOON - YEAR, NOON + 9 * YEAR, 100_000)
    assert count_fires(schedule, NOON - YEAR, NOON + 9 * YEAR) == len(fires)


@settings(max_examples=150, deadline=None)
@given(schedules(), instants, st.integers(0, 40 * DAY))
def test_the_last_fire_is_the_last_of_all(schedule: Schedule, after: int, length: int) -> None:
    last = last_fire(schedule, after, after + length)
    if last is None:
        assert fires_between(schedule, after, after + length, 1) == []
    else:
        assert after < last < after + length
        following = next_fire(schedule, last)
        assert following is None or following >= after + length
        assert fires_between(schedule, last - 1, last + 1, 1) == [last]


@pytest.mark.parametrize(
    ("schedule", "length", "count"),
    [
        (Schedule(CronSchedule("* * * * *")), YEAR, 525_600),
        (Schedule(CronSchedule("* * * 1 *")), YEAR, 44_640),
        (Schedule(EverySchedule(1, NOON)), 7 * DAY, 604_800),
    ],
)
def test_the_work_for_many_missed_times_is_bounded(
    monkeypatch: pytest.MonkeyPatch, schedule: Schedule, length: int, count: int
) -> None:
    computed = []

    def counted(*arguments: object) -> int | None:
        computed.append(arguments)
        return next_fire(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(counting, "next_fire", counted)
    assert count_fires(schedule, NOON - 1, NOON + length) == count
    assert last_fire(schedule, NOON - 1, NOON + length) is not None
    assert len(computed) < 200
