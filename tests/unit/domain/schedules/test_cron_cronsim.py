"""Agreement with cronsim and croniter wherever both define the case.

They do not where clocks change and the expression has `*` or a step in the minute or the hour, since cronsim then goes
by the clock, or where clocks change by less than an hour, over a whole day, or back to the day before: cronsim steps in
elapsed time. croniter takes `5-5` for every minute, lets a step begin anew behind the end of a field, and lets either
day field match where one starts with `*`.
"""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from croniter import croniter  # type: ignore[import-untyped]
from cronsim import CronSim, CronSimError
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from onthedot.schedules.cron import parse_cron
from onthedot.schedules.errors import BadCron
from onthedot.schedules.schedule import CronSchedule, Schedule, fires_between, next_fire
from tests.unit.domain.schedules import oracle
from tests.unit.domain.schedules.strategies import changes, classic, hours, lists, minutes, months, spans, starts

modern = (
    lists(0, 59, starts(0, 58)),
    lists(0, 23, starts(0, 22)),
    lists(1, 31, starts(1, 30), st.just("LW")) | st.just("LW"),
    lists(1, 12, starts(1, 11)),
)
"""Fields that cronsim reads too: a start with a step, and the last weekday. `59/2` is a range of one to croniter."""
FIRES = 20
YEAR = 366


def ours(expression: str, timezone: str, start: datetime, days: int) -> list[int]:
    end = oracle.ms(start + timedelta(days=days))
    return fires_between(Schedule(CronSchedule(expression, timezone)), oracle.ms(start), end, FIRES)


def cronsims(expression: str, timezone: str, start: datetime, days: int) -> list[int]:
    fires: list[int] = []
    for moment in CronSim(expression, start if timezone == "UTC" else start.astimezone(ZoneInfo(timezone))):
        if len(fires) == FIRES or oracle.ms(moment) >= oracle.ms(start + timedelta(days=days)):
            break
        fires.append(oracle.ms(moment))
    return fires


def assume_both_read(expression: str) -> None:
    try:
        parse_cron(expression)
        CronSim(expression, datetime(2026, 1, 1, tzinfo=UTC))
    except (BadCron, CronSimError):
        assume(False)


def goes_back_a_day(timezone: str, start: datetime, days: int) -> bool:
    shown = [local.date() for _, local, _ in oracle.clock(timezone, start, days)]
    return any(day < before for before, day in pairwise(shown))


def is_defined_by_both(expression: str, timezone: str, start: datetime, days: int) -> bool:
    minute, hour, *_ = expression.split()
    if hour in ("*", "*/1"):
        steps = [local - before for (_, before, _), (_, local, _) in pairwise(oracle.clock(timezone, start, days))]
        whole_hours = all((step - oracle.MINUTE) % timedelta(hours=1) == timedelta() for step in steps)
        return whole_hours and max(steps) < timedelta(days=1) and not goes_back_a_day(timezone, start, days)
    return not (minute.startswith("*") or hour.startswith("*") or parse_cron(expression).every_hour)


def over(low: int, high: int) -> st.SearchStrategy[str]:
    """Ranges over the end. With a step croniter differs: see above."""
    return spans(low, high, over=True).map(lambda span: span.partition("/")[0])


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(
    classic | st.builds("{} {} {} {} *".format, *modern),
    st.datetimes(datetime(1971, 1, 1), datetime(2150, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_cronsim_agrees_in_utc(expression: str, start: datetime) -> None:
    assume_both_read(expression)
    start = start.replace(microsecond=0)
    assert ours(expression, "UTC", start, YEAR) == cronsims(expression, "UTC", start, YEAR)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    st.builds("{} {} {} * *".format, lists(0, 59) | minutes, lists(0, 3) | st.just("*"), st.just("*") | lists(1, 31)),
    changes,
)
def test_cronsim_agrees_through_changes_of_the_clocks(expression: str, window: tuple[str, datetime]) -> None:
    timezone, start = window
    assume_both_read(expression)
    assume(is_defined_by_both(expression, timezone, start, 3))
    assert ours(expression, timezone, start, 3) == cronsims(expression, timezone, start, 3)


@settings(max_examples=150, deadline=None)
@given(
    st.builds("{} {} {} {} *".format, minutes, hours, st.just("*") | lists(1, 28), months)
    | st.builds("{} {} * {} {}".format, minutes, hours, months, lists(0, 6))
    | st.builds("{} {} {} {} ?".format, *modern[:2], st.integers(1, 28).map("{}W".format) | st.just("L"), modern[3])
    | st.builds("{} {} ? {} {}".format, over(0, 59), over(0, 23), over(1, 12), over(0, 6) | starts(0, 5)),
    st.datetimes(datetime(1971, 1, 1), datetime(2150, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_croniter_agrees_in_utc(expression: str, start: datetime) -> None:
    assume(not any(first == last for item in _ranges(expression) for first, last in [item.split("-")]))
    schedule = Schedule(CronSchedule(expression))
    theirs, after = croniter(expression, start), oracle.ms(start)
    for _ in range(3):
        following = next_fire(schedule, after)
        assert following == round(theirs.get_next(float)) * 1000
        assert following is not None
        after = following


def _ranges(expression: str) -> list[str]:
    items = [item.split("/")[0] for field in expression.split() for item in field.split(",")]
    return [item for item in items if "-" in item]
