"""Durations as people write and read them: 90, 10m, 1h30m, 2 days."""

import re
from typing import Any, Final

import click

_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_PART: Final = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)([smhdw])", re.ASCII)
_NUMBER: Final = re.compile(r"\d{1,12}(?:\.\d{1,9})?", re.ASCII)
HOW: Final = "give seconds, or numbers with s, m, h, d or w, such as 90, 10m or 1h30m"
_WORDS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_ENOUGH: Final = 2
"""A unit is used from two of it on, so that rounding hides little."""


def read_duration(text: str) -> float:
    """Return the seconds of a duration, as an int when they are whole. Raise ValueError."""
    plain = text.replace(" ", "").lower()
    if _NUMBER.fullmatch(plain):
        seconds = float(plain)
    elif plain and _PART.sub("", plain) == "":
        seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(plain))
    else:
        raise ValueError(f"{text!r} is not a duration; {HOW}")
    return int(seconds) if seconds.is_integer() else seconds


def in_words(seconds: float) -> str:
    """Return a duration as people say it, in its largest fitting unit."""
    for size, word in _WORDS:
        count = round(seconds / size)
        if seconds >= size * _ENOUGH or (size == 1 and count == 1):
            return f"{count:,} {word}{'' if count == 1 else 's'}"
    return "less than a second"


def briefly(seconds: float) -> str:
    """Return a duration for a table, such as "88 ms", "1.2 s" or "3 min"."""
    if seconds < 1:
        return f"{seconds * 1000:,.0f} ms"
    return f"{seconds:,.1f} s" if seconds < 60 else age(seconds)


def age(seconds: float) -> str:
    """Return a duration without parts of a second, such as "14 s" or "9 min"."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size * _ENOUGH:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:,.0f} s"


def exactly(seconds: int) -> str:
    """Return whole seconds in the largest unit that divides them, such as "90 seconds" or "15 minutes"."""
    size, word = next((size, word) for size, word in _WORDS if seconds % size == 0)
    count = seconds // size
    return word if count == 1 else f"{count:,} {word}s"


class Duration(click.ParamType[float]):
    """A duration in seconds."""

    name = "TIME"

    def __init__(self, *, whole: bool = False) -> None:
        self._whole = whole

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = read_duration(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if self._whole and not isinstance(seconds, int):
            self.fail(f"{value!r} is not a whole number of seconds", param, ctx)
        return seconds
