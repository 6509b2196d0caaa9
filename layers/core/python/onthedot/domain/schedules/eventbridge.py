"""The schedule expressions of Amazon EventBridge: `cron(…)` with six fields, and `rate(…)`.

The wrapper alone says that an expression is EventBridge's. Its dialect differs from five fields: weekdays are 1 to 7
for SUN to SAT, a sixth field has years, and one of the two day fields must be `?`.
"""

import re
from collections.abc import Sequence
from typing import Final

from onthedot.domain.schedules.cron_days import Days, Weekdays, days, weekdays
from onthedot.domain.schedules.cron_fields import WEEKDAY_NAMES, CronField, numbered, numbers
from onthedot.domain.schedules.errors import BadCron

WEEKDAY: Final = CronField("day-of-week", 1, 7, numbered(WEEKDAY_NAMES, 1), once="a week", unit=("days", 86_400))
YEAR: Final = CronField("year", 1970, 2199, wraps=False, once="in that year")
PREFIX: Final = "CRON("

_ECHO: Final = 100
_FIELDS: Final = "minute, hour, day-of-month, month, day-of-week, year"
_RATE: Final = re.compile(r"\s*rate\s*\(\s*([0-9]{1,12})\s+([a-z]+?)s?\s*\)\s*", re.ASCII | re.IGNORECASE)
_RATE_HOW: Final = "give seconds, or a rate such as rate(5 minutes), rate(1 hour) or rate(7 days)"
_UNITS: Final = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}


def fields_of(text: str) -> list[str]:
    """Return the six fields of an expression in upper case that starts with the wrapper. Raise BadCron."""
    if not text.endswith(")"):
        raise BadCron(f"has no ) at its end; write cron({text.removeprefix(PREFIX).strip()[:_ECHO]})")
    fields = text.removeprefix(PREFIX)[:-1].split()
    if len(fields) == 5:
        raise BadCron(f"has 5 fields inside cron(…), which has 6: {_FIELDS}; {_five(fields)}")
    if len(fields) != 6:
        raise BadCron(f"has {len(fields)} fields inside cron(…); give 6: {_FIELDS}")
    return fields


def day_fields(day: str, weekday: str) -> tuple[Days, Weekdays]:
    """Parse the two day fields. Raise BadCron unless exactly one of them is `?`."""
    if (day == "?") == (weekday == "?"):
        raise BadCron(f"must have ? in one of day-of-month and day-of-week; {_question_mark(day, weekday)}")
    return days(day), weekdays(weekday, WEEKDAY)


def years_of(text: str) -> int | None:
    """Return the years as a set, or None for all of them."""
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
