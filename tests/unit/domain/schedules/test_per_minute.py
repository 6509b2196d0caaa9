"""Fire times by minute equal the fire times that are computed one by one."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from onthedot.schedules.counting import MINUTE_MS, fires_per_minute, minute_pattern
from onthedot.schedules.schedule import CronSchedule, EverySchedule, Schedule, fires_between
from tests.builders import NOON

RULES = st.one_of(
    st.builds(EverySchedule, st.integers(1, 150), st.integers(NOON - 10**6, NOON + 10**6)),
    st.sampled_from(["* * * * *", "*/7 * * * *", "0 3 * * *"]).map(lambda cron: CronSchedule(cron, "Europe/Berlin")),
)


@given(
    RULES, st.integers(-(10**6), 10**6), st.integers(0, 4 * 3_600_000), st.none() | st.integers(0, 400), st.booleans()
)
def test_as_one_by_one(
    rule: EverySchedule | CronSchedule, after: int, length: int, most: int | None, ends: bool
) -> None:
    schedule = Schedule(rule, end_at=NOON + after + length // 2 if ends else None)
    begin, until = NOON + after, NOON + after + length
    fires = fires_between(schedule, begin, until, 10**6 if most is None else most)
    expected = Counter(at - at % MINUTE_MS for at in fires)
    assert fires_per_minute(schedule, begin, until, most) == dict(expected)


@given(st.sampled_from([5, 7, 20, 60, 90, 300]), st.integers(0, 60_000), st.integers(0, 60_000))
def test_equal_patterns_fire_equally_often_in_each_minute(seconds: int, one: int, other: int) -> None:
    first, second = (Schedule(EverySchedule(seconds, NOON + begin)) for begin in (one, other))
    if minute_pattern(first, NOON + one) == minute_pattern(second, NOON + other):
        until = NOON + 3_600_000
        assert fires_per_minute(first, NOON + one - 1, until) == fires_per_minute(second, NOON + other - 1, until)


def test_the_beats_of_one_period_have_few_patterns() -> None:
    every = [Schedule(EverySchedule(300, NOON + begin * 7)) for begin in range(1_000)]
    assert len({minute_pattern(one, one.rule.anchor_ms) for one in every if isinstance(one.rule, EverySchedule)}) == 1
