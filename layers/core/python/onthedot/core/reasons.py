"""The words of explanations and reports: a reason, and a duration in short."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Reason:
    """A stable code for programs and a sentence for people."""

    code: str
    message: str


_UNITS: Final = ((86_400, "days"), (3_600, "h"), (60, "min"))
_ENOUGH: Final = 2
"""A unit is used from two of it on, so that the rounding hides little."""


def in_short(seconds: float) -> str:
    """Return a duration in its largest fitting unit, at least one second: `90 s`, `25 min`, `8 h`, `3 days`."""
    for size, unit in _UNITS:
        if seconds >= size * _ENOUGH:
            return f"{round(seconds / size):,} {unit}"
    return f"{max(1, round(seconds))} s"
