"""Cron expressions: parsed once and strictly into sets, from which the next local minute is computed.

An expression has five fields (minute, hour, day-of-month, month, day-of-week) or is an alias. The parser accepts:

- lists, ranges, `*/n`, `a-b/n`, JAN-DEC and SUN-SAT in any case. 7 and 0 are Sunday, and SUN may end a range.
- `L` as day-of-month for its last day, `5L` or `FRIL` for the last Friday, `2#3` or `TUE#3` for the third Tuesday.
- Both day-of-month and day-of-week: *either* may match, as in Vixie cron, unless one of the two starts with `*`
  (`*` or `*/2`). Then both must match.
- An expression that covers all 24 hours follows elapsed time through a change of the clocks (`every_hour`).

Local time is counted here in *walls*: minutes that a clock on the wall has shown since 1970-01-01T00:00. A day has
1,440 of them. croniter is not used, for three reasons: it accepts expressions that users do not mean, it does not
have our policies for changes of the clocks, and it is slower (0.2 to 0.5 ms for a new expression and its next time).
The tests compare both.
"""

import calendar
import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Final

from onthedot.domain.schedules import cron_fields
from onthedot.domain.schedules.cron_fields import Days, Weekdays
from onthedot.domain.schedules.errors import BadCron

MAX_LENGTH: Final = 255
SEARCH_YEARS: Final = 100
"""Years to search. 29 February on a given weekday can be 40 years away. A time that is not found within these years
never comes."""
DAY_WALLS: Final = 1_440
ALIASES: Final = {
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
    "@MONTHLY": "0 0 1 * *",
    "@WEEKLY": "0 0 * * 0",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@HOURLY": "0 * * * *",
}

_EPOCH: Final = date(1970, 1, 1).toordinal()
_THURSDAY: Final = 4
"""The weekday of 1970-01-01, with Sunday as 0."""
_ALL_HOURS: Final = (1 << 24) - 1
_LONGEST: Final = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_WEEKLY: Final = sum(1 << day for day in range(0, 31, 7))
_STRANGE: Final = re.compile(r"[^0-9A-Za-z*/,\-#@? \t]")


@dataclass(frozen=True, slots=True)
class Cron:
    """An expression as sets. Each set is an int whose bit n says that n is in it."""

    times: int
    """The minutes of a day, 0 to 1,439."""
    months: int
    """The months, 1 to 12."""
    days: tuple[int, ...]
    """The days for each kind of month: by its length, 28 to 31 days, and by the weekday of its first day."""
    every_hour: bool
    """Whether the expression covers all 24 hours."""

    def first_from(self, wall: int) -> int | None:
        """Return the first matching wall at or after this one, or None if there is none within SEARCH_YEARS."""
        day, minute = divmod(wall, DAY_WALLS)
        found = self._day_from(day)
        if found == day:
            if rest := self.times >> minute:
                return wall + _lowest(rest)
            found = self._day_from(day + 1)
        return None if found is None else found * DAY_WALLS + _lowest(self.times)

    def _day_from(self, day: int) -> int | None:
        """Return the first matching day at or after this one, both counted from 1970-01-01."""
        if day + _EPOCH > date.max.toordinal():
            return None
        start = date.fromordinal(day + _EPOCH)
        year, month, number = start.year, start.month, start.day
        last_year = min(year + SEARCH_YEARS, date.max.year)
        while year <= last_year:
            if self.months >> month & 1:
                before = date(year, month, 1).toordinal() - _EPOCH - 1
                if rest := self._days_of(year, month, before + 1) >> number:
                    return before + number + _lowest(rest)
            number = 1
            if later := self.months >> (month + 1):
                month += 1 + _lowest(later)
            else:
                year, month = year + 1, _lowest(self.months)
        return None

    def has_day(self, day: int) -> bool:
        """Return whether the day, counted from 1970-01-01, matches."""
        return self._day_from(day) == day

    def count_days(self, first: int, behind: int) -> int:
        """Return the number of matching days from `first` to before `behind`, both counted from 1970-01-01."""
        count = 0
        while first < behind:
            start = date.fromordinal(first + _EPOCH)
            month_start = first - start.day + 1
            following = _LONGEST[start.month] if start.month != 2 else 28 + calendar.isleap(start.year)
            end = min(behind, month_start + following)
            if self.months >> start.month & 1:
                days = self._days_of(start.year, start.month, month_start) >> start.day
                count += (days & ((1 << (end - first)) - 1)).bit_count()
            first = end
        return count

    def _days_of(self, year: int, month: int, first: int) -> int:
        length = _LONGEST[month]
        if month == 2 and (year % 4 or (year % 100 == 0 and year % 400)):
            length = 28
        return self.days[_kind(length, (first + _THURSDAY) % 7)]


@lru_cache(maxsize=4096)
def parse_cron(expression: str) -> Cron:
    """Parse an expression. Raise BadCron, which says which field is wrong and what to write instead."""
    minute, hour, day, month, weekday = _fields(expression)
    minutes, hours = cron_fields.numbers(cron_fields.MINUTE, minute), cron_fields.numbers(cron_fields.HOUR, hour)
    dates, months, week = (
        cron_fields.days(day),
        cron_fields.numbers(cron_fields.MONTH, month),
        cron_fields.weekdays(weekday),
    )
    _refuse_impossible_date(dates, months, day)
    kinds = tuple(_matching_days(dates, week, length, first) for length in range(28, 32) for first in range(7))
    _refuse_never(kinds, months)
    times = sum(minutes << 60 * n for n in range(24) if hours >> n & 1)
    return Cron(times, months, kinds, hours == _ALL_HOURS)


def _fields(expression: str) -> list[str]:
    if len(expression) > MAX_LENGTH:
        raise BadCron(f"is {len(expression)} characters long; give at most {MAX_LENGTH}")
    if strange := _STRANGE.search(expression):
        raise BadCron(f"has the character {strange[0]!a}; use ASCII letters and digits, * / , - # and spaces")
    text = expression.strip().upper()
    if text.startswith("@"):
        text = _unfold(text)
    fields = text.split()
    if len(fields) != 5:
        raise BadCron(
            f"has {len(fields)} fields; give 5: minute, hour, day-of-month, month, day-of-week"
            " (there are no seconds and no years; for seconds use every)"
        )
    return fields


def _unfold(alias: str) -> str:
    if alias not in ALIASES:
        shown = alias.split(maxsplit=1)[0][:20].lower()
        raise BadCron(f"{shown} is no alias; give {', '.join(ALIASES).lower()}, or use every for an interval")
    return ALIASES[alias]


def _refuse_impossible_date(dates: Days, months: int, text: str) -> None:
    """Raise BadCron for a day that none of the months has, even if the day of the week would match instead."""
    longest = max(_LONGEST[month] for month in range(1, 13) if months >> month & 1)
    if not dates.last and dates.numbers and _lowest(dates.numbers) > longest:
        raise cron_fields.refuse(
            cron_fields.DAY, text, f"never comes: the longest of these months has {longest} days; write L for the last"
        )


def _refuse_never(kinds: tuple[int, ...], months: int) -> None:
    """Raise BadCron for an expression that never fires.

    It is enough to check all kinds of months: in the 400 years after which the calendar repeats, each month starts on
    every weekday, leap Februaries too.
    """
    lengths = {_LONGEST[month] for month in range(1, 13) if months >> month & 1}
    if not any(kinds[_kind(length, first)] for length in lengths for first in range(7)):
        raise BadCron("never fires: no date matches both day-of-month and day-of-week; change one of them")


def _matching_days(dates: Days, week: Weekdays, length: int, first: int) -> int:
    """Return the matching days of a month of this length whose first day is this weekday (0 is Sunday)."""
    month = (2 << length) - 2
    by_number = dates.numbers & month | (1 << length if dates.last else 0)
    by_weekday = 0
    for weekday in range(7):
        earliest = 1 + (weekday - first) % 7
        if week.every >> weekday & 1:
            by_weekday |= _WEEKLY << earliest & month
        if week.last >> weekday & 1:
            by_weekday |= 1 << length - (length - earliest) % 7
    for weekday, ordinal in week.nth:
        by_weekday |= 1 << (weekday - first) % 7 + 7 * ordinal - 6 & month
    return by_number & by_weekday if dates.starred or week.starred else by_number | by_weekday


def _kind(length: int, first: int) -> int:
    return (length - 28) * 7 + first


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
