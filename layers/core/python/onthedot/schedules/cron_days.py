"""The two day fields of a cron expression, and the days of a month that match them.

Both may have more than plain values: `L`, `L-3`, `25-L`, `15W` and `LW` as day-of-month, `5L` and `2#3` as day-of-week.
Other spellings that have one meaning only are accepted too: `W15`, `L5` and `5#L`.
"""

import re
from dataclasses import dataclass
from typing import Final

from onthedot.schedules import cron_fields
from onthedot.schedules.cron_fields import DAY, WEEKDAY, WEEKDAY_NAMES, CronField, plain_item, refuse, value

_SATURDAY: Final = 6
_WHOLE_WEEK: Final = 0x7F
_WEEKLY: Final = sum(1 << day for day in range(0, 31, 7))
_FROM_END: Final = re.compile(r"L(?:-([0-9]+))?")
_NEAREST: Final = re.compile(r"([0-9]+)W|W([0-9]+)")
_TO_THE_END: Final = re.compile(r"([0-9]+)-L(/[0-9]+)?")
_NTH: Final = re.compile(r"([0-9]+|[A-Z]+)#([0-9]+)")
_LAST: Final = re.compile(r"([0-9]+|[A-Z]+)#?L|L([0-9]+|[A-Z]+)")
_SEVERAL_NTH: Final = re.compile(r"(\*|[0-9A-Z]+-[0-9A-Z]+)#([0-9]+)")


@dataclass(frozen=True, slots=True)
class Days:
    """A day-of-month field."""

    numbers: int
    """The set of days by number."""
    from_end: int
    """The set of days by their distance from the last day: `L` is 0, `L-3` is 3."""
    nearest: int
    """The set of days whose nearest weekday matches (`15W`)."""
    last_weekday: bool
    """Whether the last weekday matches (`LW`)."""
    starred: bool
    """Whether the field starts with `*`, or is `?`."""


@dataclass(frozen=True, slots=True)
class Weekdays:
    """A day-of-week field, with Sunday as 0."""

    every: int
    """The weekdays of which every one matches."""
    nth: frozenset[tuple[int, int]]
    """Pairs of a weekday and its number in the month (`2#3`)."""
    last: int
    """The weekdays of which the last one in the month matches (`5L`)."""
    starred: bool
    """Whether the field starts with `*`, or is `?`."""


def days(text: str) -> Days:
    """Parse a day-of-month field. A month without the day n has no `nW` either."""
    bits, from_end, nearest, last_weekday = 0, 0, 0, False
    for item in cron_fields.items(DAY, "*" if text == "?" else text):
        if item == "LW":
            last_weekday = True
        elif end := _FROM_END.fullmatch(item):
            from_end |= 1 << _distance(item, end[1])
        elif near := _NEAREST.fullmatch(item):
            nearest |= 1 << value(DAY, item, near[1] or near[2])
        elif to_end := _TO_THE_END.fullmatch(item):
            bits |= plain_item(DAY, f"{to_end[1]}-{DAY.high}{to_end[2] or ''}")
        else:
            bits |= plain_item(DAY, item)
    return Days(bits, from_end, nearest, last_weekday, _is_starred(text))


def weekdays(text: str, spec: CronField = WEEKDAY) -> Weekdays:
    """Parse a day-of-week field, which may have `2#3`, `TUE#3`, `5L` and `FRIL`."""
    every, last = 0, 0
    nth: set[tuple[int, int]] = set()
    for item in cron_fields.items(spec, "*" if text == "?" else text):
        if item == "L":
            every |= 1 << _last_of_week(spec) + spec.low
        elif special := _LAST.fullmatch(item):
            last |= 1 << _weekday(spec, item, special[1] or special[2])
        elif special := _NTH.fullmatch(item):
            nth.add((_weekday(spec, item, special[1]), _ordinal(spec, item, special[2])))
        elif several := _SEVERAL_NTH.fullmatch(item):
            raise refuse(spec, item, f"numbers several weekdays; write {_one_by_one(spec, *several.groups())}")
        else:
            every |= plain_item(spec, item)
    return Weekdays(every >> spec.low, frozenset(nth), last, _is_starred(text))


def matching_days(dates: Days, week: Weekdays, length: int, first: int) -> int:
    """`first` is the weekday of the month's first day: 0 is Sunday."""
    by_number, by_weekday = days_by_number(dates, length, first), _days_by_weekday(week, length, first)
    return by_number & by_weekday if dates.starred or week.starred else by_number | by_weekday


def days_by_number(dates: Days, length: int, first: int) -> int:
    found = dates.numbers & (2 << length) - 2
    if dates.from_end:
        found |= sum(1 << length - n for n in range(length) if dates.from_end >> n & 1)
    if dates.last_weekday:
        found |= 1 << _nearest_weekday(length, length, first)
    if dates.nearest:
        found |= sum(1 << day for day in {_nearest_weekday(n, length, first) for n in _each(dates.nearest, length)})
    return found


def _each(bits: int, length: int) -> list[int]:
    return [n for n in range(1, length + 1) if bits >> n & 1]


def _nearest_weekday(day: int, length: int, first: int) -> int:
    weekday = (first + day - 1) % 7
    if weekday == 0:
        return day + 1 if day < length else day - 2
    if weekday == _SATURDAY:
        return day - 1 if day > 1 else day + 2
    return day


def _days_by_weekday(week: Weekdays, length: int, first: int) -> int:
    month, found = (2 << length) - 2, 0
    if week.every == _WHOLE_WEEK:
        return month
    for weekday in range(7):
        earliest = 1 + (weekday - first) % 7
        if week.every >> weekday & 1:
            found |= _WEEKLY << earliest & month
        if week.last >> weekday & 1:
            found |= 1 << length - (length - earliest) % 7
    for weekday, ordinal in week.nth:
        found |= 1 << (weekday - first) % 7 + 7 * ordinal - 6 & month
    return found


def _is_starred(text: str) -> bool:
    return text.startswith(("*", "?"))


def _distance(item: str, text: str | None) -> int:
    if text is None:
        return 0
    if not 1 <= int(text) <= DAY.high - 1:
        raise refuse(DAY, item, f"is out of range; give L for the last day, or L-1 to L-{DAY.high - 1}")
    return int(text)


def _last_of_week(spec: CronField) -> int:
    """Return the weekday of a lone `L`. Only EventBridge has it: its week ends on Saturday."""
    if spec.low == 0:
        advice = "write 6 for every Saturday, 6L for the last Saturday, or L as day-of-month for its last day"
        raise refuse(spec, "L", f"has no weekday; {advice}")
    return _SATURDAY


def _one_by_one(spec: CronField, span: str, ordinal: str) -> str:
    bits = plain_item(spec, span) >> spec.low
    names = [name[:3] for number, name in enumerate(WEEKDAY_NAMES.split()) if bits >> number & 1]
    return ",".join(f"{name}#{ordinal}" for name in names)


def _weekday(spec: CronField, item: str, text: str) -> int:
    return (value(spec, item, text) - spec.low) % 7


def _ordinal(spec: CronField, item: str, text: str) -> int:
    if not 1 <= int(text) <= 5:
        raise refuse(spec, item, "asks for a week that no month has; give #1 to #5")
    return int(text)
