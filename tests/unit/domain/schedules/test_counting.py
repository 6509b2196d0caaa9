"""Counting fire times of long spans: the same number as computing each of them."""

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.domain.schedules.counting import count_fires, last_fire
from onthedot.domain.schedules.schedule import (
    CronSchedule,
    DstPolicy,
    EverySchedule,
    Gap,
    Overlap,
    Schedule,
    fires_between,
)
from tests.builders import NOON

HOUR, DAY = 3_600_000, 86_400_000
EXPRESSIONS = ["*/7 * * * *", "0 * * * *", "30 2 * * *", "0 0 * * 0", "15,45 1-3 * * *", "0 12 L * *", "*/5 2 * 3,10 *"]
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]
policies = st.builds(DstPolicy, st.sampled_from(Gap), st.sampled_from(Overlap))
rules = st.one_of(
    st.builds(EverySchedule, st.integers(600, 100_000), st.just(NOON)),
    st.builds(CronSchedule, st.sampled_from(EXPRESSIONS), st.sampled_from(ZONES), policies),
)
offsets = st.one_of(st.none(), st.integers(-50 * DAY, 50 * DAY))


@settings(max_examples=60, deadline=None)
@given(rules, st.integers(-200 * DAY, 200 * DAY), st.integers(0, 100 * DAY), offsets, st.integers(0, 100 * DAY))
def test_a_count_and_the_last_time_are_those_of_all_times(
    rule: CronSchedule | EverySchedule, begin: int, length: int, start: int | None, lasts: int
) -> None:
    after = NOON + begin
    starts = None if start is None else after + start
    schedule = Schedule(rule, starts, None if starts is None else starts + lasts)
    times = fires_between(schedule, after, after + length, 10**6)
    assert count_fires(schedule, after, after + length) == len(times)
    assert last_fire(schedule, after, after + length) == (times[-1] if times else None)


def test_ten_years_are_counted_at_once() -> None:
    begun = time.process_time()
    assert count_fires(Schedule(CronSchedule("* * * * *")), NOON, NOON + 3_650 * DAY) == 3_650 * 1_440 - 1
    assert count_fires(Schedule(EverySchedule(1, NOON)), NOON, NOON + 3_650 * DAY) == 3_650 * 86_400 - 1
    assert time.process_time() - begun < 2
