"""Fire times against the brute-force oracle, over random expressions, zones and years."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from onthedot.schedules import zones
from onthedot.schedules.choices import DstPolicy, Gap, Overlap
from onthedot.schedules.errors import BadCron
from onthedot.schedules.schedule import CronSchedule, Schedule, fires_between, next_fire
from onthedot.schedules.zones import known_timezones, zone
from tests.unit.domain.schedules import oracle
from tests.unit.domain.schedules.strategies import (
    CHANGES,
    daily,
    dates,
    expressions,
    months,
    new_dates,
    new_weekdays,
    policies,
    weekdays,
    windows,
)

DAYS = 3
MANY = 10**6


def a_schedule(expression: str, timezone: str, policy: tuple[str, str]) -> Schedule:
    """Expressions that are refused as never firing are not asked about here."""
    try:
        return Schedule(CronSchedule(expression, timezone, DstPolicy(Gap(policy[0]), Overlap(policy[1]))))
    except BadCron as refusal:
        assume("never" not in str(refusal))
        raise


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(expressions | daily, windows, policies)
def test_fires_are_those_of_the_oracle(expression: str, window: tuple[str, datetime], policy: tuple[str, str]) -> None:
    timezone, start = window
    schedule = a_schedule(expression, timezone, policy)
    begin, end = oracle.ms(start), oracle.ms(start + timedelta(days=DAYS))
    expected = oracle.fires(expression, timezone, policy, start, DAYS)
    assert fires_between(schedule, begin, end + 1, MANY) == expected


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(daily, windows, policies, st.integers(0, DAYS * 86_400_000 - 1))
def test_next_is_the_oracles_from_any_millisecond(
    expression: str, window: tuple[str, datetime], policy: tuple[str, str], into: int
) -> None:
    timezone, start = window
    schedule = a_schedule(expression, timezone, policy)
    after = oracle.ms(start) + into
    later = [at for at in oracle.fires(expression, timezone, policy, start, DAYS) if at > after]
    found = next_fire(schedule, after)
    assert found is not None
    assert found > after
    if later:
        assert found == later[0]
    else:
        assert found > oracle.ms(start + timedelta(days=DAYS))


@pytest.mark.parametrize(("timezone", "day"), CHANGES)
@pytest.mark.parametrize("policy", [("run_after", "once"), ("skip", "twice")])
@pytest.mark.parametrize("expression", ["*/20 * * * *", "*/20 0-3,21-23 * * *", "59,0 1,2 * * *"])
def test_next_is_the_oracles_from_every_few_minutes_around_a_change(
    timezone: str, day: str, policy: tuple[str, str], expression: str
) -> None:
    start = oracle.utc(day)
    schedule = a_schedule(expression, timezone, policy)
    later = oracle.fires(expression, timezone, policy, start, DAYS)
    for after in range(oracle.ms(start), oracle.ms(start + timedelta(days=DAYS - 1)), 11 * 60_000):
        while later and later[0] <= after:
            del later[0]
        assert next_fire(schedule, after) == (later[0] if later else None), datetime.fromtimestamp(after / 1000, UTC)


@pytest.fixture
def chunks_of_an_hour(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(zones, "_CHUNK_MS", 3_600_000)
    zones._stretches.cache_clear()
    yield
    zones._stretches.cache_clear()


@pytest.mark.usefixtures("chunks_of_an_hour")
@pytest.mark.parametrize(
    ("timezone", "day"), [change for change in CHANGES if change[0].startswith(("Ant", "Aus", "Pac"))]
)
@pytest.mark.parametrize("expression", ["*/30 * * * *", "*/30 0-4,18-23 * * *"])
def test_where_time_is_cut_for_caching_does_not_matter(timezone: str, day: str, expression: str) -> None:
    start, policy = oracle.utc(day), ("run_after", "once")
    expected = oracle.fires(expression, timezone, policy, start, DAYS)
    end = oracle.ms(start + timedelta(days=DAYS))
    assert fires_between(a_schedule(expression, timezone, policy), oracle.ms(start), end + 1, MANY) == expected


@settings(max_examples=200, deadline=None)
@given(dates | new_dates, months, weekdays | new_weekdays, st.dates(date(1970, 1, 2), date(2399, 12, 31)))
def test_days_are_those_of_the_calendar_for_years(dom: str, month: str, dow: str, after: date) -> None:
    expression = f"59 23 {dom} {month} {dow}"
    schedule = a_schedule(expression, "UTC", ("run_after", "once"))
    evening = datetime(after.year, after.month, after.day, 23, 59, tzinfo=UTC)
    expected = oracle.first_day(expression, after, days=9 * 366)
    found = next_fire(schedule, oracle.ms(evening))
    if expected is None:
        assert found is None or found > oracle.ms(evening + timedelta(days=9 * 366))
    else:
        assert found == oracle.ms(datetime(expected.year, expected.month, expected.day, 23, 59, tzinfo=UTC))


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(sorted(known_timezones())), st.datetimes(datetime(1970, 1, 1), datetime(2400, 1, 1)))  # noqa: DTZ001
def test_stretches_have_the_offsets_of_zoneinfo(name: str, moment: datetime) -> None:
    place = zone(name)
    instant = oracle.ms(moment.replace(tzinfo=UTC))
    stretch = place.stretch(instant)
    assert stretch.start <= instant < stretch.end
    for inside in (stretch.start, instant, stretch.end - 1):
        assert place.local(inside).utcoffset() == timedelta(milliseconds=stretch.offset)
