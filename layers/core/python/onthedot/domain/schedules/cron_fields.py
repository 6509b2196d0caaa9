"""The parser of one field of a cron expression. It is strict, and each refusal says what to write instead.

Every set is an int whose bit n says that n is in it. The parser does not guess: a spelling that other crons read in two
ways (`5-1`, `5/15`, `*/60`, `?`) is refused, with the spelling that has one meaning.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from onthedot.domain.schedules.errors import BadCron

_ECHO: Final = 20
_ITEM: Final = re.compile(r"(?:\*|([0-9A-Z]+)(?:-([0-9A-Z]+))?)(?:/([0-9]+))?")
_WEEKDAY: Final = re.compile(r"([0-9]+|[A-Z]{3})(?:#([0-9]+)|(L))")


@dataclass(frozen=True, slots=True)
class CronField:
    """One of the five fields, and the values that it can have."""

    name: str
    low: int
    high: int
    """The last value that `*` covers."""
    names: Mapping[str, int] = field(default_factory=dict)
    """The names of values, such as JAN for 1."""

    @property
    def choices(self) -> str:
        """The values, for messages."""
        names = list(self.names)
        return f"{self.low}-{self.high}" + (f" or {names[0]}-{names[-1]}" if names else "")


def _numbered(names: str, first: int) -> dict[str, int]:
    return {name: number for number, name in enumerate(names.split(), first)}


MINUTE: Final = CronField("minute", 0, 59)
HOUR: Final = CronField("hour", 0, 23)
DAY: Final = CronField("day-of-month", 1, 31)
MONTH: Final = CronField("month", 1, 12, _numbered("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC", 1))
WEEKDAY: Final = CronField("day-of-week", 0, 6, _numbered("SUN MON TUE WED THU FRI SAT", 0))
SUNDAY_TOO: Final = 7


@dataclass(frozen=True, slots=True)
class Days:
    """A day-of-month field."""

    numbers: int
    """The set of days by number."""
    last: bool
    """Whether `L`, the last day, is among them."""
    starred: bool
    """Whether the field starts with `*`."""


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
    """Whether the field starts with `*`."""


def refuse(spec: CronField, item: str, trouble: str) -> BadCron:
    """Return the error for an item of a field, for the caller to raise."""
    shown = item if len(item) <= _ECHO else item[:_ECHO] + "…"
    return BadCron(f"{spec.name} field: '{shown}' {trouble}")


def numbers(spec: CronField, text: str) -> int:
    """Parse a minute, hour or month field into a set."""
    bits = 0
    for item in _items(spec, text):
        bits |= _item(spec, item)
    return bits


def days(text: str) -> Days:
    """Parse a day-of-month field, which may have `L`."""
    bits, last = 0, False
    for item in _items(DAY, text):
        if item == "L":
            last = True
        else:
            bits |= _item(DAY, item)
    return Days(bits, last, text.startswith("*"))


def weekdays(text: str) -> Weekdays:
    """Parse a day-of-week field, which may have `2#3`, `TUE#3`, `5L` and `FRIL`, and 7 as Sunday."""
    every, last = 0, 0
    nth: set[tuple[int, int]] = set()
    for item in _items(WEEKDAY, text):
        special = _WEEKDAY.fullmatch(item)
        if special is None:
            every |= _item(WEEKDAY, item)
        elif special[3]:
            last |= 1 << _weekday(item, special[1])
        else:
            nth.add((_weekday(item, special[1]), _ordinal(item, special[2])))
    return Weekdays(_fold_sunday(every), frozenset(nth), last, text.startswith("*"))


def _items(spec: CronField, text: str) -> list[str]:
    items = text.split(",")
    for item in items:
        if not item:
            raise refuse(spec, text, "has an empty entry; remove the comma too many")
        if item == "*" and len(items) > 1:
            raise refuse(spec, text, "lists * beside other values; write * alone, or only the others")
        if item.startswith("*") and len(items) > 1 and spec in (DAY, WEEKDAY):
            # A * at the start of a day field decides whether both day fields must match or either. The order of the
            # items in a list must not decide it.
            raise refuse(spec, text, f"lists {item} beside other values; write it as {_plain(spec, item)}")
    return items


def _plain(spec: CronField, starred: str) -> str:
    return f"{spec.low}-{spec.high}{starred[1:]}"


def _item(spec: CronField, item: str) -> int:
    match = _ITEM.fullmatch(item)
    if match is None:
        raise refuse(spec, item, _hint(spec, item))
    first, final, step = match.groups()
    if first is None:
        low, high = spec.low, spec.high
    else:
        low = _value(spec, item, first)
        high = low if final is None else _range_end(spec, item, low, final)
    return _bits(low, high, 1 if step is None else _step(spec, item, low, high, step))


def _bits(low: int, high: int, step: int) -> int:
    return sum(1 << value for value in range(low, high + 1, step))


def _range_end(spec: CronField, item: str, low: int, text: str) -> int:
    high = _value(spec, item, text)
    if spec is WEEKDAY and high == 0 and low > 0 and text == "SUN":
        return SUNDAY_TOO
    if high < low:
        raise refuse(spec, item, f"runs backwards; write {_span(low, spec.high)},{_span(spec.low, high)}")
    return high


def _span(low: int, high: int) -> str:
    return f"{low}-{high}" if low < high else str(low)


def _step(spec: CronField, item: str, low: int, high: int, text: str) -> int:
    step = int(text)
    if low == high:
        whole = f"{low}-{spec.high}/{step}" if 1 <= step <= spec.high - low else str(low)
        raise refuse(spec, item, f"has a step but no range; write {whole}")
    if step < 1:
        raise refuse(spec, item, "has a step of 0; give 1 or more")
    if step > high - low:
        raise refuse(spec, item, f"has a step larger than {low}-{high} spans; give 1-{high - low}, or write {low}")
    return step


def _value(spec: CronField, item: str, text: str) -> int:
    if text in spec.names:
        return spec.names[text]
    if not text.isdigit():
        raise refuse(spec, item, _hint(spec, text))
    value, most = int(text), SUNDAY_TOO if spec is WEEKDAY else spec.high
    if not spec.low <= value <= most:
        raise refuse(spec, item, f"is out of range; give {spec.choices}")
    return value


def _weekday(item: str, text: str) -> int:
    return _value(WEEKDAY, item, text) % 7


def _ordinal(item: str, text: str) -> int:
    if not 1 <= int(text) <= 5:
        raise refuse(WEEKDAY, item, "asks for a week that no month has; give #1 to #5")
    return int(text)


def _fold_sunday(bits: int) -> int:
    return (bits | bits >> SUNDAY_TOO) & 0x7F


def _hint(spec: CronField, item: str) -> str:
    if item == "?":
        return "is not supported; write *"
    if item[:3] in spec.names and item.isalpha():
        return f"is no name; write {item[:3]}"
    if item.startswith("L") or item.endswith("L"):
        return "is not supported here; write L as day-of-month for the last day, 5L as day-of-week for the last Friday"
    if "#" in item:
        return "is not supported here; # stands in day-of-week, as in 1#2 or MON#2 for the second Monday"
    if item.endswith("W"):
        return f"is not supported, there is no nearest weekday; give {spec.choices}"
    return f"cannot be read; give {spec.choices}, a range a-b, a step a-b/n or */n, or a list of them"
