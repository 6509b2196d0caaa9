"""Agreement with cronsim and croniter wherever both define the case; where they do not, why not.

| case | onthedot | the other | why |
| --- | --- | --- | --- |
| `*/15 2 * * *`, `0 */2 * * *` when clocks change | fixed times: the `dst` policy | cronsim: `*` in minute or hour: by
  the clock, twice in an overlap, not in a gap | these name hours; only all 24 hours can follow elapsed time |
| `0 0-23 * * *` when clocks change | as `0 * * * *` | cronsim: fixed times | the same hours mean the same |
| `44 * * * *` when clocks go back half an hour | whenever clocks show :44 | cronsim: not the second time | cronsim
  steps over it in elapsed time |
| `* * 21 * *` when clocks jump over that whole day | never | cronsim: at its midnight, which is the next day's | local
  time is never the 21st |
| `46 * * * 0` when clocks go back to the day before (St John's, 2010-11-07 at 00:01) | fires by the clock | cronsim:
  never returns | it walks to midnight, is put back, and walks again |
| `FRI-SUN`, `22-2`, `FRIL`, `L-3`, `15W`, `?`, aliases | accepted | cronsim: refused | they have one reading only |
| `*/61`, six fields | refused | cronsim: accepted | ambiguous, or beyond five fields |
| `MON/2` | Monday, Wednesday, Friday | cronsim: Sunday too | the week ends with Saturday, 6; Sunday is 0 |
| a fixed time that happens twice, `once` | fires once | croniter: twice | the promise of `dst` |
| seven fields, other digits | refused | croniter: accepted, by a guess | strictness |
| `5-5` | {5} | croniter: every minute | a range of one |
| `22-2/3`, `THU-TUE/2` | 22, 1; Thursday, Saturday, Monday | croniter: 22, 2; Thursday, Saturday, Tuesday | a step
  goes on over the end |
| `31W` in a month of 30 days | never | croniter: the last weekday | as `31`; write `LW` for the last weekday |
| `1-7` and `MON#1`, `0-6,SAT#3` | either may match | croniter: both must | Vixie's rule for the two day fields |
| `*/2` in one day field, the other restricted | both must match | croniter: either | Vixie: what starts with `*` does
  not restrict |
"""

from datetime import UTC, datetime, timedelta
from itertools import count, pairwise
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
BERLIN = "Europe/Berlin"


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


@settings(max_examples=400, deadline=None)
@given(
    classic | st.builds("{} {} {} {} *".format, *modern),
    st.datetimes(datetime(1971, 1, 1), datetime(2150, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_cronsim_agrees_in_utc(expression: str, start: datetime) -> None:
    assume_both_read(expression)
    start = start.replace(microsecond=0)
    assert ours(expression, "UTC", start, YEAR) == cronsims(expression, "UTC", start, YEAR)


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


@pytest.mark.parametrize("expression", ["*/15 2 * * *", "0 */2 * * *", "0 0-23 * * *"])
def test_cronsim_differs_in_what_a_wildcard_is(expression: str) -> None:
    start = oracle.utc("2026-10-24T22:30")
    assert ours(expression, BERLIN, start, 1) != cronsims(expression, BERLIN, start, 1)


def test_cronsim_misses_a_minute_that_comes_again_after_half_an_hour() -> None:
    start = oracle.utc("2026-04-04")
    missed = set(ours("44 * * * *", "Australia/Lord_Howe", start, 1)) - set(
        cronsims("44 * * * *", "Australia/Lord_Howe", start, 1)
    )
    assert missed == {oracle.ms(oracle.utc("2026-04-04T15:14"))}


def test_cronsim_never_returns_when_clocks_go_back_to_the_day_before(monkeypatch: pytest.MonkeyPatch) -> None:
    start, ticks, tick = oracle.utc("2010-11-06"), count(), CronSim.tick

    def counted(self: CronSim, seconds: int = 1) -> None:
        if next(ticks) > 10_000:
            raise TimeoutError
        tick(self, seconds)

    monkeypatch.setattr(CronSim, "tick", counted)
    with pytest.raises(TimeoutError):
        cronsims("46 * * * 0", "America/St_Johns", start, 3)
    expected = oracle.fires("46 * * * 0", "America/St_Johns", ("run_after", "once"), start, 3)
    assert ours("46 * * * 0", "America/St_Johns", start, 3) == expected[:FIRES]


def test_cronsim_fires_on_a_day_that_does_not_exist() -> None:
    start = oracle.utc("1993-08-20")
    assert cronsims("* * 21 * *", "Pacific/Kwajalein", start, 3) == [oracle.ms(oracle.utc("1993-08-21T12:00"))]
    assert ours("* * 21 * *", "Pacific/Kwajalein", start, 3) == []


@pytest.mark.parametrize(
    "expression",
    ["0 0 * * FRI-SUN", "0 22-2 * * *", "0 0 * * FRIL", "0 0 L-3 * *", "0 0 15W * *", "0 0 ? * 1", "@daily"],
)
def test_cronsim_refuses_what_we_read(expression: str) -> None:
    parse_cron(expression)
    with pytest.raises(CronSimError):
        CronSim(expression, datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("expression", ["*/61 * * * *", "0 0 0 1 1 *"])
def test_cronsim_reads_what_we_refuse(expression: str) -> None:
    CronSim(expression, datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(BadCron):
        parse_cron(expression)


@pytest.mark.parametrize("expression", ["0 0 1 1 * 0 2030", "٥ * * * *"])
def test_croniter_reads_what_we_refuse(expression: str) -> None:
    assert croniter.is_valid(expression)
    with pytest.raises(BadCron):
        parse_cron(expression)


def test_croniter_fires_a_fixed_time_twice() -> None:
    theirs = croniter("30 2 * * *", oracle.utc("2026-10-24T22:00").astimezone(ZoneInfo(BERLIN)))
    first, second = (round(theirs.get_next(float)) * 1000 for _ in range(2))
    assert second - first == 3_600_000
    assert ours("30 2 * * *", BERLIN, oracle.utc("2026-10-24T22:00"), 1) == [first]


def test_croniter_lets_either_match_where_a_day_field_starts_with_a_star() -> None:
    start = oracle.utc("2026-03-02")
    assert croniter("0 0 */2 * 1", start).get_next(datetime).day == 3
    assert ours("0 0 */2 * 1", "UTC", start, 8) == [oracle.ms(oracle.utc("2026-03-09"))]


def test_croniter_takes_a_range_of_one_for_every_minute() -> None:
    start = datetime(2026, 1, 1, 0, 30, tzinfo=UTC)
    assert croniter("5-5 * * * *", start).get_next(datetime).minute == 31
    assert ours("5-5 * * * *", "UTC", start, 1)[0] == oracle.ms(oracle.utc("2026-01-01T01:05"))


def test_cronsim_lets_a_week_end_with_sunday() -> None:
    start = oracle.utc("2026-03-06T12:00")
    assert CronSim("0 0 * * 1/2", start).__next__().day == 8
    assert ours("0 0 * * 1/2", "UTC", start, 8)[0] == oracle.ms(oracle.utc("2026-03-09"))


def test_croniter_takes_another_step_over_the_end() -> None:
    start = oracle.utc("2026-03-01T23:00")
    assert croniter("0 22-2/3 * * *", start).get_next(datetime).hour == 2
    assert ours("0 22-2/3 * * *", "UTC", start, 1)[0] == oracle.ms(oracle.utc("2026-03-02T01:00"))
