"""Durations in the sentences of reports, such as `90 s`, `25 min`, `8 h` or `3 days`."""

from typing import Final

_UNITS: Final = ((86_400, "days"), (3_600, "h"), (60, "min"))
_ENOUGH: Final = 2
"""A unit is used from two of it on, so that the rounding hides little."""


def in_short(seconds: float) -> str:
    """Return a duration in its largest fitting unit, at least one second."""
    for size, unit in _UNITS:
        if seconds >= size * _ENOUGH:
            return f"{round(seconds / size):,} {unit}"
    return f"{max(1, round(seconds))} s"
