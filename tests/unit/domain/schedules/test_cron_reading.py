"""The meaning of cron expressions, and the refusals with their advice."""

import pytest

from onthedot.core.errors import InvalidRequest
from onthedot.schedules.cron import parse_cron
from onthedot.schedules.errors import BadCron
from onthedot.schedules.schedule import CronSchedule, Schedule, fires_between
from tests.unit.domain.schedules.oracle import ms, utc

MEANINGS = [
    ("0 0 L * *", "2027-02-01", "2027-02-28T00:00 2027-03-31T00:00"),
    ("0 0 L 2 *", "2027-01-01", "2027-02-28T00:00 2028-02-29T00:00"),
    ("0 0 15,L * *", "2026-02-01", "2026-02-15T00:00 2026-02-28T00:00 2026-03-15T00:00"),
    ("0 0 29 2 *", "2096-01-01", "2096-02-29T00:00 2104-02-29T00:00"),
    ("0 0 29 2 *", "2396-03-01", "2400-02-29T00:00"),
    ("0 0 * 2 MON#5", "2026-01-01", "2044-02-29T00:00 2072-02-29T00:00"),
    ("0 0 31 * *", "2026-01-31", "2026-03-31T00:00 2026-05-31T00:00"),
    ("0 9 * * 2#3", "2026-03-01", "2026-03-17T09:00 2026-04-21T09:00"),
    ("0 9 * * tue#3", "2026-03-01", "2026-03-17T09:00"),
    ("0 9 * * 5L", "2026-03-01", "2026-03-27T09:00 2026-04-24T09:00"),
    ("0 9 * * FriL", "2026-03-01", "2026-03-27T09:00"),
    ("0 9 * * 7L", "2026-03-01", "2026-03-29T09:00"),
    ("0 9 * * 1,1#2", "2026-03-01", "2026-03-02T09:00 2026-03-09T09:00"),
    ("0 0 * * 7", "2026-03-01", "2026-03-08T00:00"),
    ("0 0 * * 0", "2026-03-01", "2026-03-08T00:00"),
    ("0 0 * * sun", "2026-03-01", "2026-03-08T00:00"),
    ("0 0 * * FRI-SUN", "2026-03-02", "2026-03-06T00:00 2026-03-07T00:00 2026-03-08T00:00 2026-03-13T00:00"),
    ("0 0 * * 5-7", "2026-03-02", "2026-03-06T00:00 2026-03-07T00:00 2026-03-08T00:00 2026-03-13T00:00"),
    ("0 0 * * SUN-MON", "2026-03-02", "2026-03-08T00:00 2026-03-09T00:00"),
    ("0 0 1 Jan-MAR/2 *", "2026-01-01", "2026-03-01T00:00 2027-01-01T00:00"),
    ("05 00 01 01 00", "2026-01-01", "2026-01-01T00:05 2026-01-04T00:05"),
    ("5-5 * * * *", "2026-01-01", "2026-01-01T00:05 2026-01-01T01:05"),
    ("*/15,7 * * * *", "2026-01-01", "2026-01-01T00:07 2026-01-01T00:15 2026-01-01T00:30"),
    ("\t0  0 1\t1 * ", "2026-01-01", "2027-01-01T00:00"),
    ("@hourly", "2026-01-01", "2026-01-01T01:00"),
    ("@DAILY", "2026-01-01", "2026-01-02T00:00"),
    ("@midnight", "2026-01-01", "2026-01-02T00:00"),
    ("@weekly", "2026-01-01", "2026-01-04T00:00"),
    ("@monthly", "2026-01-01", "2026-02-01T00:00"),
    ("@yearly", "2026-01-01", "2027-01-01T00:00"),
    ("@annually", "2026-01-01", "2027-01-01T00:00"),
    # A start with a step goes to the end of the field.
    ("5/15 * * * *", "2026-01-01", "2026-01-01T00:05 2026-01-01T00:20 2026-01-01T00:35 2026-01-01T00:50"),
    ("59/15 * * * *", "2026-01-01", "2026-01-01T00:59 2026-01-01T01:59"),
    ("0 0 * * MON/2", "2026-03-01", "2026-03-02T00:00 2026-03-04T00:00 2026-03-06T00:00 2026-03-09T00:00"),
    ("0 0 1 3/4 *", "2026-01-01", "2026-03-01T00:00 2026-07-01T00:00 2026-11-01T00:00 2027-03-01T00:00"),
    # A range goes over the end, and its step with it.
    ("0 22-2 * * *", "2026-01-01T12:00", "2026-01-01T22:00 2026-01-01T23:00 2026-01-02T00:00 2026-01-02T01:00"),
    ("0 22-2/2 * * *", "2026-01-01T12:00", "2026-01-01T22:00 2026-01-02T00:00 2026-01-02T02:00 2026-01-02T22:00"),
    ("0 22-2/3 * * *", "2026-01-01T12:00", "2026-01-01T22:00 2026-01-02T01:00 2026-01-02T22:00"),
    ("55-5/5 * * * *", "2026-01-01", "2026-01-01T00:05 2026-01-01T00:55 2026-01-01T01:00 2026-01-01T01:05"),
    ("0 0 * * FRI-MON", "2026-03-03", "2026-03-06T00:00 2026-03-07T00:00 2026-03-08T00:00 2026-03-09T00:00"),
    ("0 0 * * fri-mon/2", "2026-03-03", "2026-03-06T00:00 2026-03-08T00:00 2026-03-13T00:00"),
    ("0 0 * * 5-0", "2026-03-03", "2026-03-06T00:00 2026-03-07T00:00 2026-03-08T00:00 2026-03-13T00:00"),
    ("0 0 * * 7-2", "2026-03-03", "2026-03-08T00:00 2026-03-09T00:00 2026-03-10T00:00 2026-03-15T00:00"),
    ("0 0 * * 0-7", "2026-03-03", "2026-03-04T00:00 2026-03-05T00:00"),
    ("0 0 * * SUN-SUN", "2026-03-03", "2026-03-08T00:00 2026-03-15T00:00"),
    ("0 0 1 NOV-FEB *", "2026-01-15", "2026-02-01T00:00 2026-11-01T00:00 2026-12-01T00:00 2027-01-01T00:00"),
    ("0 0 1 NOV-FEB/2 *", "2026-01-15", "2026-11-01T00:00 2027-01-01T00:00 2027-11-01T00:00"),
    ("0 0 30-2 * *", "2026-04-15", "2026-04-30T00:00 2026-05-01T00:00 2026-05-02T00:00 2026-05-30T00:00"),
    # ? is * in the day fields.
    ("0 0 ? * MON", "2026-03-01", "2026-03-02T00:00 2026-03-09T00:00"),
    ("0 0 13 * ?", "2026-03-01", "2026-03-13T00:00 2026-04-13T00:00"),
    ("0 0 ? * ?", "2026-03-01", "2026-03-02T00:00 2026-03-03T00:00"),
    # Counted from the end of the month, and the nearest weekday in the same month.
    ("0 0 L-3 * *", "2026-02-01", "2026-02-25T00:00 2026-03-28T00:00 2026-04-27T00:00"),
    ("0 0 L-30 * *", "2026-02-02", "2026-03-01T00:00 2026-05-01T00:00"),
    ("0 0 25-L/3 2 *", "2026-02-01", "2026-02-25T00:00 2026-02-28T00:00 2027-02-25T00:00"),
    ("0 0 15W * *", "2026-07-01", "2026-07-15T00:00 2026-08-14T00:00 2026-09-15T00:00"),
    ("0 0 15W 8,11 *", "2026-07-01", "2026-08-14T00:00 2026-11-16T00:00"),
    ("0 0 1W * *", "2026-07-15", "2026-08-03T00:00 2026-09-01T00:00 2026-10-01T00:00 2026-11-02T00:00"),
    ("0 0 31W 5,8,10,11,1 *", "2026-05-01", "2026-05-29T00:00 2026-08-31T00:00 2026-10-30T00:00 2027-01-29T00:00"),
    ("0 0 W15 8 *", "2026-07-01", "2026-08-14T00:00"),
    ("0 0 1W,15W * *", "2026-08-01", "2026-08-03T00:00 2026-08-14T00:00 2026-09-01T00:00"),
    ("0 0 LW * *", "2026-01-01", "2026-01-30T00:00 2026-02-27T00:00 2026-03-31T00:00 2026-04-30T00:00"),
    ("0 0 LW 5 *", "2026-01-01", "2026-05-29T00:00 2027-05-31T00:00"),
    ("0 9 * * 5#L", "2026-03-01", "2026-03-27T09:00 2026-04-24T09:00"),
    ("0 9 * * fri#l", "2026-03-01", "2026-03-27T09:00 2026-04-24T09:00"),
    # Full names.
    ("0 0 * * friday", "2026-03-01", "2026-03-06T00:00 2026-03-13T00:00"),
    ("0 0 * * Monday-Friday/2", "2026-03-01", "2026-03-02T00:00 2026-03-04T00:00 2026-03-06T00:00"),
    ("0 0 * * FRIDAYL", "2026-03-01", "2026-03-27T00:00 2026-04-24T00:00"),
    ("0 0 * * TUESDAY#2", "2026-03-01", "2026-03-10T00:00 2026-04-14T00:00"),
    ("0 0 1 april,May *", "2026-03-01", "2026-04-01T00:00 2026-05-01T00:00"),
    # A step as long as its field is once.
    ("*/60 * * * *", "2026-01-01", "2026-01-01T01:00 2026-01-01T02:00"),
    ("7/60 * * * *", "2026-01-01", "2026-01-01T00:07 2026-01-01T01:07"),
    ("0 */24 * * *", "2026-01-01", "2026-01-02T00:00 2026-01-03T00:00"),
    ("0 0 1 */12 *", "2026-01-01", "2027-01-01T00:00 2028-01-01T00:00"),
    ("0 0 1-7 * */7", "2026-03-01", "2026-04-05T00:00 2026-05-03T00:00 2026-06-07T00:00"),
    ("0 9 * * L5", "2026-03-01", "2026-03-27T09:00 2026-04-24T09:00"),
    ("0 0 15W * 1", "2026-08-09", "2026-08-10T00:00 2026-08-14T00:00 2026-08-17T00:00"),
    # Either day may match …
    ("0 0 13 * 5", "2026-03-07", "2026-03-13T00:00 2026-03-20T00:00"),
    ("0 0 13 * FRI", "2026-04-11", "2026-04-13T00:00 2026-04-17T00:00"),
    ("0 0 1-31 * 1", "2026-03-02", "2026-03-03T00:00 2026-03-04T00:00"),
    # … unless one of the two starts with *: then both must.
    ("0 0 */2 * 1", "2026-03-02", "2026-03-09T00:00 2026-03-23T00:00"),
    ("0 0 13 * */5", "2026-03-01", "2026-03-13T00:00 2026-09-13T00:00"),
    ("0 0 */28 2 MON#5", "2026-01-01", "2044-02-29T00:00"),
]


@pytest.mark.parametrize(("expression", "after", "expected"), MEANINGS)
def test_an_expression_means(expression: str, after: str, expected: str) -> None:
    times = [ms(utc(time)) for time in expected.split()]
    found = fires_between(Schedule(CronSchedule(expression)), ms(utc(after)), 10**15, len(times))
    assert found == times


REFUSALS = [
    ("", "has 0 fields; give 5"),
    ("0 * * * * *", "has 6 fields; give 5"),
    ("0 0 1 1 * 0 2030", "has 7 fields; give 5"),
    ("* * * * *" + " " * 250, "is 259 characters long; give at most 255"),
    ("٥ * * * *", "has the character '\\u0665'; use ASCII"),
    ("0 0 * * *\n", "has the character '\\n'; use ASCII"),
    ("-1 * * * *", "minute field: '-1' cannot be read; give 0-59"),
    ("60 * * * *", "minute field: '60' is out of range; give 0-59"),
    ("0 0 0 * *", "day-of-month field: '0' is out of range; give 1-31"),
    ("0 0 1 13 *", "month field: '13' is out of range; give 1-12 or JAN-DEC"),
    ("0 0 * * 8", "day-of-week field: '8' is out of range; give 0-6 or SUN-SAT"),
    ("9" * 200 + " * * * *", "is out of range"),
    ("1- * * * *", "minute field: '1-' cannot be read"),
    ("1,,2 * * * *", "minute field: '1,,2' has an empty entry; remove the extra comma"),
    ("5-5/1 * * * *", "has a step but no range"),
    ("*/0 * * * *", "minute field: '*/0' has a step of 0; give 1 or more"),
    (
        "*/61 * * * *",
        "minute field: '*/61' has a step larger than 0-59; write 0 for once an hour, or use every with 3660",
    ),
    ("7/90 * * * *", "write 7 for once an hour, or use every with 5400 for every 90 minutes"),
    ("0 */36 * * *", "write 0 for once a day, or use every with 129600 for every 36 hours"),
    ("0 0 1 */18 *", "write 1 for once a year"),
    ("*/99999999999 * * * *", "write 0 for once an hour"),
    ("0 9-17/9 * * *", "hour field: '9-17/9' has a step larger than 9-17; give 1-8, or write 9 for 9 alone"),
    ("0 0 * * 7/2", "day-of-week field: '7/2' starts after 6; write 0/2"),
    ("0 0 */31 * *", "has a step larger than 1-31"),
    ("*/-5 * * * *", "cannot be read"),
    ("*,5 * * * *", "minute field: '*,5' lists * with other values"),
    ("0 0 */2,5 * *", "day-of-month field: '*/2,5' lists */2 with other values; write 1-31/2,5 (either day"),
    ("0 0 5 * 1,*/2", "write 1,0-6/2 (either"),
    ("0 0 * * L", "day-of-week field: 'L' has no weekday; write 6 for every Saturday, 6L for the last Saturday"),
    ("0 0 L-0 * *", "day-of-month field: 'L-0' is out of range; give L for the last day, or L-1 to L-30"),
    ("0 0 L-31 * *", "is out of range; give L for the last day"),
    ("0 0 L-30 2 *", "never comes: the longest of these months has 29 days"),
    ("0 0 30W 2 *", "never comes: the longest of these months has 29 days; write LW for the last weekday"),
    ("0 0 L-3W * *", "is not supported here; write 15W or LW as day-of-month"),
    ("0 15W * * *", "hour field: '15W' is not supported here; write 15W or LW as day-of-month"),
    ("? * * * *", "minute field: '?' is allowed only in day-of-month or day-of-week; write *"),
    ("0 0 ?,5 * *", "day-of-month field: '?,5' lists ? with other values; write ? alone, or only the others"),
    ("0 0 ?/2 * *", "cannot be read"),
    ("0 0 * * MON-FRI#2", "numbers several weekdays; write MON#2,TUE#2,WED#2,THU#2,FRI#2"),
    ("0 0 * * MONS", "day-of-week field: 'MONS' has a name that is too long; write MON"),
    ("0 0 * * THURSL", "has a name that is too long; write THUL"),
    ("0 0 1 sept *", "month field: 'SEPT' has a name that is too long; write SEP"),
    ("0 0 */100,1-7 * MON", "lists */100 with other values; write 1,1-7 (either"),
    ("H * * * *", "minute field: 'H' is allowed only with five fields, and its value comes from the id of a job"),
    ("rate(5 minutes)", "is an interval; use every with rate(5 minutes)"),
    ("rate(x)", "is an interval; use every with a rate such as rate(5 minutes)"),
    ("at(2030-01-01T00:00:00)", "is one time; use at instead of cron"),
    ("0 12 * * ? *", "has 6 fields; give 5: minute, hour, day-of-month, month, day-of-week. EventBridge's"),
    ("0 12 * * ? 2030", "expression needs its wrapper; write cron(0 12 * * ? 2030)"),
    ("0 0 12 ? * MON-FRI", "There are no seconds; write cron(0 12 ? * MON-FRI *)"),
    ("0 0 12 ? * 2#1 2030", "There are no seconds; write cron(0 12 ? * 2#1 2030)"),
    ("0 30 9 * * 1-5", "There are no seconds; write 30 9 * * 1-5"),
    ("L * * * *", "minute field: 'L' is not supported here"),
    ("0 0 1#2 * *", "day-of-month field: '1#2' is not supported here; use # in day-of-week"),
    ("0 0 * * 1#6", "day-of-week field: '1#6' asks for a week that no month has; give #1 to #5"),
    ("0 0 * * 1#0", "asks for a week that no month has"),
    ("0 0 * * 8#1", "is out of range"),
    ("0 0 * MON *", "month field: 'MON' cannot be read; give 1-12 or JAN-DEC"),
    ("0 0 30 2 *", "day-of-month field: '30' never comes: the longest of these months has 29 days; write L"),
    ("0 0 31 4,6,9,11 *", "never comes: the longest of these months has 30 days"),
    ("0 0 */30 * 1#2", "never fires: no date matches both"),
    ("@reboot", "@reboot is not an alias; give @yearly"),
    (
        "@every 5m",
        "@every is not an alias; give @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, or use every",
    ),
    ("@every 1h30m", "or use every with 5400"),
    ("@every 5 minutes", "or use every for an interval"),
]


@pytest.mark.parametrize(("expression", "advice"), REFUSALS)
def test_an_expression_is_refused_with_advice(expression: str, advice: str) -> None:
    with pytest.raises(BadCron) as refusal:
        parse_cron(expression)
    assert advice in str(refusal.value)
    assert len(str(refusal.value)) < 250


def test_a_refusal_is_an_invalid_request_and_a_value_error_of_its_field() -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_cron("60 * * * *")
    assert isinstance(refusal.value, ValueError)
    (problem,) = refusal.value.problems
    assert (problem.field, problem.message) == ("cron", "minute field: '60' is out of range; give 0-59")


@pytest.mark.parametrize("expression", ["0 * * * *", "0 */1 * * *", "0 0-23 * * *", "0 0-11,12-23 * * *"])
def test_all_24_hours_are_every_hour_however_written(expression: str) -> None:
    assert parse_cron(expression).every_hour


@pytest.mark.parametrize("expression", ["0 */2 * * *", "* 0-22 * * *", "*/15 2 * * *"])
def test_named_hours_are_fixed_times(expression: str) -> None:
    assert not parse_cron(expression).every_hour
