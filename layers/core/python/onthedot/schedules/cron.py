"""Cron expressions: parsed once and strictly into the sets of `Cron`.

An expression has five fields (minute, hour, day-of-month, month, day-of-week), is an alias, or is EventBridge's
`cron(…)`. The parser accepts:

- lists, ranges, `*/n`, `a-b/n`, `a/n` for `a-max/n`, JAN-DEC and SUN-SAT in any case. 7 and 0 are Sunday.
- Ranges over the end: `22-2` is 22, 23, 0, 1 and 2. A step goes on over the end: `22-2/2` is 22, 0 and 2.
- `L` as day-of-month for its last day, `L-3` for three days before it, `15W` for the weekday nearest to the 15th in
  the same month, `LW` for the last weekday; `5L` or `FRIL` for the last Friday, `2#3` or `TUE#3` for the third Tuesday.
- `?` as `*` in the two day fields.
- Both day-of-month and day-of-week: *either* may match, as in Vixie cron, unless one of the two starts with `*`
  (`*` or `*/2`) or is `?`. Then both must match.
- An expression that covers all 24 hours follows elapsed time through a change of the clocks (`every_hour`).

croniter does not compute the times, for three reasons: it accepts expressions that users do not mean, it does not have
our policies for changes of the clocks, and it is slower (0.2 to 0.5 ms for a new expression and its next time). It
resolves `H` (see `spread`), and the tests compare both.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from onthedot.schedules import cron_fields
from onthedot.schedules.cron_days import Days, Weekdays, days, days_by_number, matching_days, weekdays
from onthedot.schedules.cron_fields import (
    LONGEST,
    WEEKDAY_NAMES,
    Cron,
    CronField,
    CronOfYears,
    kind_of_month,
    numbered,
    numbers,
)
from onthedot.schedules.errors import BadCron

WEEKDAY: Final = CronField("day-of-week", 1, 7, numbered(WEEKDAY_NAMES, 1), once="a week", unit=("days", 86_400))
YEAR: Final = CronField("year", 1970, 2199, wraps=False, once="in that year")
PREFIX: Final = "CRON("

_ECHO: Final = 100
_FIELDS: Final = "minute, hour, day-of-month, month, day-of-week, year"
_RATE: Final = re.compile(r"\s*rate\s*\(\s*([0-9]{1,12})\s+([a-z]+?)s?\s*\)\s*", re.ASCII | re.IGNORECASE)
_RATE_HOW: Final = "give seconds, or a rate such as rate(5 minutes), rate(1 hour) or rate(7 days)"
_UNITS: Final = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}


def fields_of(text: str) -> list[str]:
    if not text.endswith(")"):
        raise BadCron(f"has no ) at its end; write cron({text.removeprefix(PREFIX).strip()[:_ECHO]})")
    fields = text.removeprefix(PREFIX)[:-1].split()
    if len(fields) == 5:
        raise BadCron(f"has 5 fields inside cron(…), which takes 6: {_FIELDS}; {_five(fields)}")
    if len(fields) != 6:
        raise BadCron(f"has {len(fields)} fields inside cron(…); give 6: {_FIELDS}")
    return fields


def day_fields(day: str, weekday: str) -> tuple[Days, Weekdays]:
    """Parse the two day fields. Raise BadCron unless exactly one of them is `?`."""
    if (day == "?") == (weekday == "?"):
        raise BadCron(f"must have ? in either day-of-month or day-of-week; {_question_mark(day, weekday)}")
    return days(day), weekdays(weekday, WEEKDAY)


def years_of(text: str) -> int | None:
    """Return None for all years."""
    return None if text == "*" else numbers(YEAR, text)


def rate_seconds(text: str) -> int:
    """Return the seconds of `rate(5 minutes)`. Raise ValueError that says what to write instead."""
    found = _RATE.fullmatch(text)
    if found is None:
        bare = _RATE.fullmatch(f"rate({text.strip()})")
        has_unit = bare is not None and bare[2].lower() in _UNITS
        how = f"write rate({text.strip()})" if has_unit else _RATE_HOW
        raise ValueError(f"is not a whole number without quotes; {how}")
    value, unit = int(found[1]), found[2].lower()
    if unit == "week":
        raise ValueError(f"has no unit that a rate can have; write rate({7 * value} days)")
    if unit not in _UNITS:
        raise ValueError(f"has no unit that a rate can have; {_RATE_HOW}")
    return value * _UNITS[unit]


def _question_mark(day: str, weekday: str) -> str:
    if day == "?":
        return "write * as day-of-month for every day"
    if weekday == "*":
        return "write ? as day-of-week"
    if day == "*":
        return "write ? as day-of-month"
    return "make two jobs, one for the days of the month and one for the days of the week"


def _five(fields: Sequence[str]) -> str:
    """Return the advice for a wrapper around five fields. `?` shows that EventBridge's dialect is meant."""
    text = " ".join(fields)
    return f"for all years write cron({text} *)" if "?" in fields else f"for five fields write {text}"


MAX_LENGTH: Final = 255
ALIASES: Final = {
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
    "@MONTHLY": "0 0 1 * *",
    "@WEEKLY": "0 0 * * 0",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@HOURLY": "0 * * * *",
}

_ALL_HOURS: Final = (1 << 24) - 1
_STRANGE: Final = re.compile(r"[^0-9A-Za-z*/,\-#@?() \t]")
_EVERY: Final = re.compile(r"@EVERY\s+(?:([0-9]{1,6})H)?(?:([0-9]{1,8})M)?(?:([0-9]{1,9})S)?")


@lru_cache(maxsize=4096)
def parse_cron(expression: str) -> Cron:
    """Raise BadCron, which says which field is wrong and what to write instead."""
    text = checked(expression)
    if text.startswith(PREFIX):
        minute, hour, day, month, weekday, year = fields_of(text)
        dates, week = day_fields(day, weekday)
        years = years_of(year)
    else:
        minute, hour, day, month, weekday = five_fields(text)
        dates, week, years = days(day), weekdays(weekday), None
    minutes, hours = cron_fields.numbers(cron_fields.MINUTE, minute), cron_fields.numbers(cron_fields.HOUR, hour)
    months = cron_fields.numbers(cron_fields.MONTH, month)
    kinds = _kinds(dates, week, months, day)
    times = sum(minutes << 60 * n for n in range(24) if hours >> n & 1)
    if years is None:
        return Cron(times, months, kinds, hours == _ALL_HOURS)
    return CronOfYears(times, months, kinds, hours == _ALL_HOURS, years)


def five_fields(text: str) -> list[str]:
    fields = (_unfold(text) if text.startswith("@") else text).split()
    if len(fields) != 5:
        how = "give 5: minute, hour, day-of-month, month, day-of-week"
        raise BadCron(f"has {len(fields)} fields; {how}{_meant(fields)}")
    return fields


def checked(expression: str) -> str:
    """Return the expression in upper case. Raise BadCron for what no dialect has."""
    if len(expression) > MAX_LENGTH:
        raise BadCron(f"is {len(expression)} characters long; give at most {MAX_LENGTH}")
    text = expression.strip().upper()
    if text.startswith("RATE("):
        raise BadCron(f"is an interval; use every with {_interval(expression.strip().lower())}")
    if text.startswith("AT("):
        raise BadCron("is one time; use at instead of cron")
    if strange := _STRANGE.search(expression):
        raise BadCron(f"has the character {strange[0]!a}; use ASCII letters and digits, * / , - # ? and spaces")
    return text


def _interval(rate: str) -> str:
    try:
        rate_seconds(rate)
    except ValueError:
        return "a rate such as rate(5 minutes)"
    return rate


def _meant(fields: list[str]) -> str:
    """Return the expression that six or seven fields may mean: EventBridge's, or five fields after seconds."""
    if len(fields) == 6 and _can_be_read(wrapped := f"cron({' '.join(fields)})"):
        return f". EventBridge's expression needs its wrapper; write {wrapped}"
    if len(fields) in (6, 7) and fields[0] == "0":
        five, year = fields[1:6], fields[6] if len(fields) == 7 else "*"
        # Quartz has seconds and ?, and its weekdays are EventBridge's.
        is_quartz = "?" in five
        plain = f"cron({' '.join(five)} {year})" if is_quartz or year != "*" else " ".join(five)
        if _can_be_read(plain):
            return f". There are no seconds; write {plain}"
    return " (there are no seconds; for seconds use every)"


def _can_be_read(expression: str) -> bool:
    try:
        parse_cron(expression)
    except BadCron:
        return False
    return True


def _unfold(alias: str) -> str:
    if alias in ALIASES:
        return ALIASES[alias]
    interval = _EVERY.fullmatch(alias)
    seconds = (
        0 if interval is None else sum(int(n or 0) * s for n, s in zip(interval.groups(), (3600, 60, 1), strict=True))
    )
    use = f"use every with {seconds}" if seconds else "use every for an interval"
    shown = alias.split(maxsplit=1)[0][:20].lower()
    raise BadCron(f"{shown} is not an alias; give {', '.join(ALIASES).lower()}, or {use}")


def _kinds(dates: Days, week: Weekdays, months: int, text: str) -> tuple[int, ...]:
    """Return the matching days for each kind of month. Raise BadCron for an expression that never fires.

    It is enough to check all kinds of months: in the 400 years after which the calendar repeats, each month starts on
    every weekday, leap Februaries too.
    """
    lengths = {LONGEST[month] for month in range(1, 13) if months >> month & 1}
    if not any(days_by_number(dates, length, first) for length in lengths for first in range(7)):
        # Even if the day of the week would match instead.
        last = "LW for the last weekday" if text.endswith("W") else "L for the last"
        trouble = f"never comes: the longest of these months has {max(lengths)} days; write {last}"
        raise cron_fields.refuse(cron_fields.DAY, text, trouble)
    kinds = tuple(matching_days(dates, week, length, first) for length in range(28, 32) for first in range(7))
    if not any(kinds[kind_of_month(length, first)] for length in lengths for first in range(7)):
        raise BadCron("never fires: no date matches both day-of-month and day-of-week; change one of them")
    return kinds
