"""Cron expressions as sets, from which the next local minute is computed.

Local time is counted in *walls*: minutes that a clock on the wall has shown since 1970-01-01T00:00. A day has 1,440 of
them. Every set is an int whose bit n says that n is in it.
"""

import calendar
from dataclasses import dataclass
from datetime import date
from typing import Final

SEARCH_YEARS: Final = 100
"""Years to search. 29 February on a given weekday can be 40 years away. A time that is not found within these years
never comes."""
DAY_WALLS: Final = 1_440
LONGEST: Final = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""The most days of each month."""

_EPOCH: Final = date(1970, 1, 1).toordinal()
_THURSDAY: Final = 4
"""The weekday of 1970-01-01, with Sunday as 0."""


@dataclass(frozen=True, slots=True)
class Cron:
    """An expression as sets."""

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
                return wall + lowest(rest)
            found = self._day_from(day + 1)
        return None if found is None else found * DAY_WALLS + lowest(self.times)

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
                    return before + number + lowest(rest)
            number = 1
            if later := self.months >> (month + 1):
                month += 1 + lowest(later)
            else:
                year, month = year + 1, lowest(self.months)
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
            following = LONGEST[start.month] if start.month != 2 else 28 + calendar.isleap(start.year)
            end = min(behind, month_start + following)
            if self.months >> start.month & 1:
                days = self._days_of(start.year, start.month, month_start) >> start.day
                count += (days & ((1 << (end - first)) - 1)).bit_count()
            first = end
        return count

    def _days_of(self, year: int, month: int, first: int) -> int:
        length = LONGEST[month]
        if month == 2 and (year % 4 or (year % 100 == 0 and year % 400)):
            length = 28
        return self.days[kind_of_month(length, (first + _THURSDAY) % 7)]


@dataclass(frozen=True, slots=True)
class CronOfYears(Cron):
    """An expression that matches in some years only. It is a class of its own, so that others need not ask for years.

    `super()` does not work in a class with slots that a decorator makes anew, so methods of Cron are called by name.
    """

    years: int
    """The years, 1970 to 2199."""

    @property
    def last_year(self) -> int:
        """The last of the years."""
        return self.years.bit_length() - 1

    def _day_from(self, day: int) -> int | None:
        found: int | None = day
        while found is not None:
            year = _year_of(found)
            if year is None or not (rest := self.years >> year):
                return None
            if not rest & 1:
                found = date(year + lowest(rest), 1, 1).toordinal() - _EPOCH
            matching = Cron._day_from(self, found)
            if matching is None or _year_of(matching) == _year_of(found):
                return matching
            found = matching
        return None

    def count_days(self, first: int, behind: int) -> int:
        """Return the number of matching days from `first` to before `behind`, both counted from 1970-01-01."""
        count = 0
        while first < behind and (year := _year_of(first)) is not None:
            end = min(behind, date(year + 1, 1, 1).toordinal() - _EPOCH)
            if self.years >> year & 1:
                count += Cron.count_days(self, first, end)
            first = end
        return count


def kind_of_month(length: int, first: int) -> int:
    """Return the index of a kind of month in `Cron.days`. `first` is the weekday of its first day, 0 for Sunday."""
    return (length - 28) * 7 + first


def lowest(bits: int) -> int:
    """Return the smallest number of a set that is not empty."""
    return (bits & -bits).bit_length() - 1


def _year_of(day: int) -> int | None:
    return None if day + _EPOCH > date.max.toordinal() else date.fromordinal(day + _EPOCH).year
