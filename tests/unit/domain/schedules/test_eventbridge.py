"""EventBridge's schedule expressions: the documented examples with their fire times, and where the dialect differs.

The examples are those of the EventBridge User Guide ("Creating a rule that runs on a schedule") and of the EventBridge
Scheduler User Guide ("Schedule types"). One of them contradicts itself: the page says 10 pm for `20-2`. Hours belong to
the day on which clocks show them, so `20-2` on Friday ends on Friday at 23:30, and Monday starts at 00:00.
"""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onthedot.schedules.counting import count_fires, last_fire
from onthedot.schedules.cron import parse_cron, rate_seconds
from onthedot.schedules.errors import BadCron
from onthedot.schedules.schedule import CronSchedule, Schedule, contains, fires_between, next_fire, no_fire_problem
from tests.unit.domain.schedules.oracle import ms, utc

DAY = 86_400_000
YEAR = 366 * DAY

DOCUMENTED = [
    ("cron(0 10 * * ? *)", "2026-03-06T12:00", "2026-03-07T10:00 2026-03-08T10:00"),
    ("cron(15 12 * * ? *)", "2026-03-06T12:00", "2026-03-06T12:15 2026-03-07T12:15"),
    ("cron(0 18 ? * MON-FRI *)", "2026-03-05T20:00", "2026-03-06T18:00 2026-03-09T18:00"),
    ("cron(0 8 1 * ? *)", "2026-03-01T08:00", "2026-04-01T08:00 2026-05-01T08:00"),
    ("cron(0/15 * * * ? *)", "2026-03-06T12:00", "2026-03-06T12:15 2026-03-06T12:30 2026-03-06T12:45 2026-03-06T13:00"),
    ("cron(0/10 * ? * MON-FRI *)", "2026-03-06T23:40", "2026-03-06T23:50 2026-03-09T00:00 2026-03-09T00:10"),
    ("cron(0/5 8-17 ? * MON-FRI *)", "2026-03-06T17:50", "2026-03-06T17:55 2026-03-09T08:00 2026-03-09T08:05"),
    ("cron(0/30 20-2 ? * MON-FRI *)", "2026-03-05T23:00", "2026-03-05T23:30 2026-03-06T00:00 2026-03-06T00:30"),
    ("cron(0/30 20-2 ? * MON-FRI *)", "2026-03-06T23:00", "2026-03-06T23:30 2026-03-09T00:00"),
    ("cron(0/30 20-2 ? * MON-FRI *)", "2026-03-09T02:00", "2026-03-09T02:30 2026-03-09T20:00"),
    ("cron(0 12 * * ? *)", "2026-03-06T12:00", "2026-03-07T12:00"),
    ("cron(5,35 14 * * ? *)", "2026-03-06T14:05", "2026-03-06T14:35 2026-03-07T14:05"),
    ("cron(15 10 ? * 6L 2019-2022)", "2018-06-01", "2019-01-25T10:15 2019-02-22T10:15"),
    ("cron(15 10 ? * 6L 2019-2022)", "2022-11-26", "2022-12-30T10:15"),
    ("cron(15 10 ? * 6L 2022-2023)", "2021-06-01", "2022-01-28T10:15 2022-02-25T10:15"),
    # The wildcards of the reference: 1/10, 3W, 3#2, L as day-of-month and as day-of-week.
    ("cron(1/10 * * * ? *)", "2026-03-06T12:00", "2026-03-06T12:01 2026-03-06T12:11 2026-03-06T12:21"),
    ("cron(0 0 3W * ? *)", "2026-01-01", "2026-01-02T00:00 2026-02-03T00:00 2026-03-03T00:00"),
    ("cron(0 0 3W 5,10 ? *)", "2026-01-01", "2026-05-04T00:00 2026-10-02T00:00"),
    ("cron(0 0 ? * 3#2 *)", "2026-03-01", "2026-03-10T00:00 2026-04-14T00:00"),
    ("cron(0 0 L * ? *)", "2026-02-01", "2026-02-28T00:00 2026-03-31T00:00"),
    ("cron(0 0 ? * L *)", "2026-03-01", "2026-03-07T00:00 2026-03-14T00:00"),
    ("cron(0 0 1 JAN,FEB,MAR ? *)", "2026-01-15", "2026-02-01T00:00 2026-03-01T00:00 2027-01-01T00:00"),
    ("cron(0 0 1-15 * ? *)", "2026-03-14", "2026-03-15T00:00 2026-04-01T00:00"),
    ("cron(0 0 7 * ? *)", "2026-03-14", "2026-04-07T00:00"),
]


def fires(expression: str, after: str, count: int) -> list[int]:
    return fires_between(Schedule(CronSchedule(expression)), ms(utc(after)), 10**15, count)


@pytest.mark.parametrize(("expression", "after", "expected"), DOCUMENTED)
def test_a_documented_example_fires_as_documented(expression: str, after: str, expected: str) -> None:
    times = [ms(utc(time)) for time in expected.split()]
    assert fires(expression, after, len(times)) == times


def test_an_example_ends_with_its_years() -> None:
    assert fires("cron(15 10 ? * 6L 2019-2022)", "2022-11-26", 9) == [ms(utc("2022-12-30T10:15"))]
    assert fires("cron(15 10 ? * 6L 2019-2022)", "2023-01-01", 9) == []


@pytest.mark.parametrize(
    ("expression", "five"),
    [
        ("cron(0 9 ? * 1 *)", "0 9 * * SUN"),
        ("cron(0 9 ? * 2-6 *)", "0 9 * * MON-FRI"),
        ("cron(0 9 ? * 7 *)", "0 9 * * SAT"),
        ("cron(0 9 ? * 7-2 *)", "0 9 * * SAT-MON"),
        ("cron(0 9 ? * FRI-MON *)", "0 9 * * 5,6,0,1"),
        ("cron(0 9 ? * 2/2 *)", "0 9 * * MON,WED,FRI"),
        ("cron(0 9 ? * 2,4 *)", "0 9 * * MON,WED"),
        ("cron(0 9 ? * * *)", "0 9 * * *"),
        ("cron(0 9 ? * 2#1 *)", "0 9 * * MON#1"),
        ("cron(0 9 ? * 2#1,6#3 *)", "0 9 * * MON#1,FRI#3"),
        ("cron(0 9 ? * 7L *)", "0 9 * * SATL"),
        ("cron(0 9 LW * ? *)", "0 9 LW * *"),
        ("cron(0 9 L-3 * ? *)", "0 9 L-3 * *"),
        ("CRON(0 9 1W Jan ? 1970-2199)", "0 9 1W 1 *"),
        ("  cron( 0  9 ? * MON * ) ", "0 9 * * MON"),
    ],
)
def test_the_dialect_has_its_own_weekdays(expression: str, five: str) -> None:
    assert fires(expression, "2026-03-01", 20) == fires(five, "2026-03-01", 20)


REFUSALS = [
    ("cron(0 12 * * ? *", "has no ) at its end; write cron(0 12 * * ? *)"),
    ("cron()", "has 0 fields inside cron(…); give 6"),
    ("cron(0 12 * * ?)", "which takes 6: minute, hour, day-of-month, month, day-of-week, year; for all years write"),
    ("cron(0 12 * * *)", "has 5 fields inside cron(…)"),
    ("cron(0 0 12 * * ? *)", "has 7 fields inside cron(…)"),
    ("cron(0 12 * * * *)", "must have ? in either day-of-month or day-of-week; write ? as day-of-week"),
    ("cron(0 12 * * MON *)", "must have ? in either day-of-month or day-of-week; write ? as day-of-month"),
    ("cron(0 12 1 * * *)", "write ? as day-of-week"),
    ("cron(0 12 ? * ? *)", "write * as day-of-month for every day"),
    ("cron(0 12 1 * MON *)", "make two jobs, one for the days of the month and one for the days of the week"),
    ("cron(0 12 ? * 0 *)", "day-of-week field: '0' is out of range; give 1-7 or SUN-SAT"),
    ("cron(0 12 ? * 8 *)", "day-of-week field: '8' is out of range"),
    ("cron(? 12 * * ? *)", "minute field: '?' is allowed only in day-of-month or day-of-week"),
    ("cron(0 12 * * ? ?)", "year field: '?' is allowed only in day-of-month or day-of-week"),
    ("cron(0 12 * * ? 1969)", "year field: '1969' is out of range; give 1970-2199"),
    ("cron(0 12 * * ? 2200)", "year field: '2200' is out of range"),
    ("cron(0 12 * * ? 2030-2028)", "year field: '2030-2028' runs backwards; write 2028-2030"),
    ("cron(0 12 * * ? 2030-2020/5)", "year field: '2030-2020/5' runs backwards; write 2020-2030/5"),
    ("cron(H 12 * * ? *)", "minute field: 'H' is allowed only with five fields"),
    ("cron(0/90 * * * ? *)", "or use every with 5400 for every 90 minutes"),
    ("cron(0 0 31 2 ? *)", "never comes"),
    ("cron(0 12 ? * TUES *)", "write TUE"),
]


@pytest.mark.parametrize(("expression", "advice"), REFUSALS)
def test_an_expression_is_refused_with_advice(expression: str, advice: str) -> None:
    with pytest.raises(BadCron) as refusal:
        parse_cron(expression)
    assert advice in str(refusal.value)
    assert len(str(refusal.value)) < 250


years = st.sets(st.integers(2020, 2045), min_size=1, max_size=5)
plain = st.sampled_from(["0 0 29 2 *", "30 6 L * *", "0 */6 * * *", "0 0 * 12,1 *", "15 9 * * 2#3", "59 23 31 12 *"])


def in_years(expression: str, chosen: set[int]) -> tuple[Schedule, Schedule]:
    """The schedule of five fields, and the same in some years only."""
    minute, hour, day, month, weekday = expression.split()
    wrapped = f"cron({minute} {hour} {'?' if weekday != '*' else day} {month} {'?' if weekday == '*' else weekday}"
    numbers = ",".join(map(str, sorted(chosen)))
    # The weekday of `plain` is a Tuesday, which is 3 here.
    return Schedule(CronSchedule(expression)), Schedule(CronSchedule(f"{wrapped.replace('2#3', '3#3')} {numbers})"))


@settings(max_examples=100, deadline=None)
@given(plain, years, st.integers(ms(utc("2018-01-01")), ms(utc("2046-01-01"))), st.integers(1, 12 * YEAR))
def test_years_leave_only_their_fire_times(expression: str, chosen: set[int], after: int, length: int) -> None:
    every, some = in_years(expression, chosen)
    bounds = [(ms(utc(f"{year}-01-01")), ms(utc(f"{year + 1}-01-01"))) for year in sorted(chosen)]
    expected = [
        at
        for start, end in bounds
        for at in fires_between(every, max(after, start - 1), min(after + length, end), 10_000)
    ]
    assert fires_between(some, after, after + length, 10_000) == expected
    assert count_fires(some, after, after + length) == len(expected)
    assert last_fire(some, after, after + length) == (expected[-1] if expected else None)
    assert all(contains(some, at) for at in expected)


def test_far_years_and_the_end_of_the_calendar_do_no_harm() -> None:
    schedule = Schedule(CronSchedule("cron(0 0 1 1 ? 2199)"))
    assert next_fire(schedule, ms(utc("2150-01-01"))) == ms(utc("2199-01-01"))
    assert next_fire(schedule, ms(utc("2199-01-01"))) is None
    assert next_fire(schedule, 253_402_300_799_999) is None
    assert next_fire(schedule, 10**20) is None
    assert count_fires(schedule, ms(utc("2150-01-01")), 253_370_764_800_000) == 1


def test_a_schedule_whose_years_are_over_says_so() -> None:
    over = Schedule(CronSchedule("cron(15 10 ? * 6L 2019-2022)"))
    problem = no_fire_problem(over, ms(utc("2026-01-01")))
    assert (problem.field, problem.message) == (
        "cron",
        "has no fire time in the next 100 years: its last year is 2022; give other years, or *",
    )
    ended = replace(over, rule=CronSchedule("cron(15 10 ? * 6L *)"), end_at=ms(utc("2026-01-02")))
    assert no_fire_problem(ended, ms(utc("2026-01-01"))).field == "end_at"


@pytest.mark.parametrize(
    ("rate", "seconds"),
    [
        ("rate(1 minute)", 60),
        ("rate(5 minutes)", 300),
        ("rate(1 hour)", 3_600),
        ("rate(1 hours)", 3_600),
        ("rate(12 hours)", 43_200),
        ("rate(1 day)", 86_400),
        ("rate(7 days)", 604_800),
        ("rate(30 seconds)", 30),
        (" Rate( 2  Hours ) ", 7_200),
    ],
)
def test_a_rate_is_an_interval(rate: str, seconds: int) -> None:
    assert rate_seconds(rate) == seconds


@pytest.mark.parametrize(
    ("rate", "advice"),
    [
        ("5", "give seconds, or a rate such as rate(5 minutes)"),
        ("5 minutes", "is not a whole number without quotes; write rate(5 minutes)"),
        ("soon", "a rate such as rate(5 minutes)"),
        ("rate(5)", "a rate such as"),
        ("rate(1.5 hours)", "a rate such as"),
        ("rate(-1 hours)", "a rate such as"),
        ("rate(5 months)", "has no unit that a rate can have; give seconds"),
        ("rate(2 weeks)", "has no unit that a rate can have; write rate(14 days)"),
        ("rate(٥ minutes)", "a rate such as"),
    ],
)
def test_another_rate_is_refused_with_advice(rate: str, advice: str) -> None:
    with pytest.raises(ValueError, match="rate") as refusal:
        rate_seconds(rate)
    assert advice in str(refusal.value)
