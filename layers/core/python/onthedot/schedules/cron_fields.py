"""The parser of one field of a cron expression. It is strict, and each refusal says what to write instead.

Every set is an int whose bit n says that n is in it. A spelling that other crons read in two ways (`*/90`, `5-5/2`) is
refused, with the spelling that has one meaning.
"""

import calendar
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from onthedot.schedules.errors import BadCron

_ECHO: Final = 20
_ITEM: Final = re.compile(r"(?:\*|([0-9A-Z]+)(?:-([0-9A-Z]+))?)(?:/([0-9]+))?")
_WORD: Final = re.compile(r"[A-Z]+")
_HINTS: Final = (
    (re.compile(r"^\?$"), "is allowed only in day-of-month or day-of-week; write *"),
    (
        re.compile(r"^H(?![A-Z])"),
        "is allowed only with five fields, and its value comes from the id of a job; give a number",
    ),
    (
        re.compile(r"#"),
        "is not supported here; use # in day-of-week, as in 1#2 or MON#2 for the second Monday",
    ),
    (
        re.compile(r"^W|[0-9L]W"),
        "is not supported here; write 15W or LW as day-of-month for the nearest or last weekday",
    ),
    (
        re.compile(r"^L|[0-9]L|L$"),
        "is not supported here; write L as day-of-month for the last day, 5L as day-of-week for the last Friday",
    ),
)
"""Advice for items that cannot be read, by their form."""
_LONGEST_EVERY: Final = 3_653 * 86_400
"""The most seconds that `every` takes."""


@dataclass(frozen=True, slots=True)
class CronField:
    """One of the fields, and the values that it can have."""

    name: str
    low: int
    high: int
    """The last value that `*` covers."""
    names: Mapping[str, int] = field(default_factory=dict)
    """The names of values, such as JAN for 1."""
    most: int = 0
    """The largest value that may be written, if it is larger than `high`: 7 is Sunday too."""
    wraps: bool = True
    """Whether a range may go over the end, as 22-2 does."""
    once: str = ""
    """How often a single value comes, for messages."""
    unit: tuple[str, int] | None = None
    """The unit of the values and its seconds, if `every` can count them."""

    @property
    def choices(self) -> str:
        """The values, for messages."""
        short = [name for name in self.names if len(name) == 3]
        return f"{self.low}-{self.high}" + (f" or {short[0]}-{short[-1]}" if short else "")


def numbered(names: str, first: int) -> dict[str, int]:
    """Names are found in full and by three letters."""
    numbers = list(enumerate(names.split(), first))
    return {name[:3]: number for number, name in numbers} | {name: number for number, name in numbers}


WEEKDAY_NAMES: Final = "SUNDAY MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY"
_MONTH_NAMES: Final = "JANUARY FEBRUARY MARCH APRIL MAY JUNE JULY AUGUST SEPTEMBER OCTOBER NOVEMBER DECEMBER"
MINUTE: Final = CronField("minute", 0, 59, once="an hour", unit=("minutes", 60))
HOUR: Final = CronField("hour", 0, 23, once="a day", unit=("hours", 3_600))
DAY: Final = CronField("day-of-month", 1, 31, once="a month", unit=("days", 86_400))
MONTH: Final = CronField("month", 1, 12, numbered(_MONTH_NAMES, 1), once="a year")
WEEKDAY: Final = CronField(
    "day-of-week", 0, 6, numbered(WEEKDAY_NAMES, 0), most=7, once="a week", unit=("days", 86_400)
)
DAY_NAMES: Final = (DAY.name, WEEKDAY.name)


def refuse(spec: CronField, item: str, trouble: str) -> BadCron:
    shown = item if len(item) <= _ECHO else item[:_ECHO] + "…"
    return BadCron(f"{spec.name} field: '{shown}' {trouble}")


def numbers(spec: CronField, text: str) -> int:
    bits = 0
    for item in items(spec, text):
        bits |= plain_item(spec, item)
    return bits


def items(spec: CronField, text: str) -> list[str]:
    """Raise BadCron for an empty item, and for `*` or `?` with others."""
    found = text.split(",")
    for item in found:
        if not item:
            raise refuse(spec, text, "has an empty entry; remove the extra comma")
        if item in ("*", "?") and len(found) > 1:
            raise refuse(spec, text, f"lists {item} with other values; write {item} alone, or only the others")
        if item.startswith("*") and len(found) > 1 and spec.name in DAY_NAMES:
            # A * at the start of a day field decides whether both day fields must match or either. The order of the
            # items in a list must not decide it.
            plain = ",".join(_unstarred(spec, one) for one in found)
            how = f"write {plain} (either day field may match then; MON#1 as day-of-week is the first Monday)"
            raise refuse(spec, text, f"lists {item} with other values; {how}")
    return found


def _unstarred(spec: CronField, item: str) -> str:
    if not item.startswith("*/"):
        return item
    step = item[2:]
    return f"{spec.low}-{spec.high}/{step}" if step.isdigit() and int(step) <= spec.high - spec.low else str(spec.low)


def plain_item(spec: CronField, item: str) -> int:
    match = _ITEM.fullmatch(item)
    if match is None:
        raise refuse(spec, item, _hint(spec, item))
    first, final, step = match.groups()
    if first is None:
        return _bits(spec, spec.low, spec.high, _wide_step(spec, item, spec.low, step))
    low = value(spec, item, first)
    if final is not None:
        return _range(spec, item, low, value(spec, item, final), step)
    if step is None:
        return _bits(spec, low, low, 1)
    if low > spec.high:
        raise refuse(spec, item, f"starts after {spec.high}; write {spec.low}/{step}")
    return _bits(spec, low, spec.high, _wide_step(spec, item, low, step))


def value(spec: CronField, item: str, text: str) -> int:
    if text in spec.names:
        return spec.names[text]
    if not text.isdigit():
        raise refuse(spec, item, _hint(spec, item))
    number = int(text)
    if not spec.low <= number <= max(spec.most, spec.high):
        raise refuse(spec, item, f"is out of range; give {spec.choices}")
    return number


def _range(spec: CronField, item: str, low: int, high: int, step: str | None) -> int:
    """Return the set of a range. A range over the end goes on at the first value, with the same step."""
    if low > spec.high:
        low, high = spec.low, high if high <= spec.high else spec.low
    if high < low:
        if not spec.wraps:
            raise refuse(spec, item, f"runs backwards; write {high}-{low}{f'/{step}' if step else ''}")
        high += spec.high - spec.low + 1
    return _bits(spec, low, high, 1 if step is None else _narrow_step(spec, item, low, high, step))


def _bits(spec: CronField, low: int, high: int, step: int) -> int:
    bits, size = 0, spec.high - spec.low + 1
    for number in range(low, high + 1, step):
        bits |= 1 << spec.low + (number - spec.low) % size
    return bits


def _narrow_step(spec: CronField, item: str, low: int, high: int, text: str) -> int:
    step, written = _positive(spec, item, text), item.partition("/")[0]
    if low == high:
        raise refuse(spec, item, f"has a step but no range; write {low}")
    if step > high - low:
        alone = f"write {low} for {low} alone"
        raise refuse(spec, item, f"has a step larger than {written}; give 1-{high - low}, or {alone}")
    return step


def _wide_step(spec: CronField, item: str, low: int, text: str | None) -> int:
    """Return the step of `*/n` or `a/n`.

    `*/60` as minute is once an hour, which is also every 60 minutes. A larger step has two readings and is refused, as
    is `*/31` as day-of-month: not all months have 31 days.
    """
    step = 1 if text is None else _positive(spec, item, text)
    if step > spec.high - spec.low + (spec is not DAY):
        raise refuse(spec, item, f"has a step larger than {spec.low}-{spec.high}; {_interval(spec, low, step)}")
    return step


def _interval(spec: CronField, low: int, step: int) -> str:
    single = f"write {low} for once {spec.once}"
    if spec.unit is None or step * spec.unit[1] > _LONGEST_EVERY:
        return single
    name, seconds = spec.unit
    return f"{single}, or use every with {step * seconds} for every {step} {name}"


def _positive(spec: CronField, item: str, text: str) -> int:
    if int(text) < 1:
        raise refuse(spec, item, "has a step of 0; give 1 or more")
    return int(text)


def _hint(spec: CronField, item: str) -> str:
    if spec.names and (short := _shortened(spec, item)) != item:
        return f"has a name that is too long; write {short}"
    plain = f"cannot be read; give {spec.choices}, a range a-b, a step a-b/n or */n, or a list of them"
    return next((hint for pattern, hint in _HINTS if pattern.search(item)), plain)


def _shortened(spec: CronField, item: str) -> str:
    """Return the item with names of three letters: MON-FRI for MONDAY-FRIDAY, FRIL for FRIDAYL."""

    def short(word: re.Match[str]) -> str:
        if word[0][:3] not in spec.names or word[0][3:] in ("", "L"):
            return word[0]
        return word[0][:3] + ("L" if spec.name == WEEKDAY.name and word[0].endswith("L") else "")

    return _WORD.sub(short, item)


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
        """Return None if there is none within SEARCH_YEARS."""
        day, minute = divmod(wall, DAY_WALLS)
        found = self._day_from(day)
        if found == day:
            if rest := self.times >> minute:
                return wall + lowest(rest)
            found = self._day_from(day + 1)
        return None if found is None else found * DAY_WALLS + lowest(self.times)

    def _day_from(self, day: int) -> int | None:
        """Days are counted from 1970-01-01."""
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
        return self._day_from(day) == day

    def count_days(self, first: int, behind: int) -> int:
        """Count the matching days from `first` to before `behind`."""
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

    `super()` does not work in a class with slots that a decorator recreates, so methods of Cron are called by name.
    """

    years: int
    """The years, 1970 to 2199."""

    @property
    def last_year(self) -> int:
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
        count = 0
        while first < behind and (year := _year_of(first)) is not None:
            end = min(behind, date(year + 1, 1, 1).toordinal() - _EPOCH)
            if self.years >> year & 1:
                count += Cron.count_days(self, first, end)
            first = end
        return count


def kind_of_month(length: int, first: int) -> int:
    """Return its index in `Cron.days`. `first` is the weekday of its first day, 0 for Sunday."""
    return (length - 28) * 7 + first


def lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _year_of(day: int) -> int | None:
    return None if day + _EPOCH > date.max.toordinal() else date.fromordinal(day + _EPOCH).year
