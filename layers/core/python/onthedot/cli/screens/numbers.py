"""Numbers as people read them on a screen: durations in milliseconds, counts, and small charts."""

from collections.abc import Sequence
from typing import Any, Final

_BARS: Final = "▁▂▃▄▅▆▇█"
_UNITS: Final = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))


def short_ms(milliseconds: float | None) -> str:
    """Return a duration of some milliseconds, such as "88 ms" or "1.2 s". "-" stands for none."""
    if milliseconds is None:
        return "-"
    if milliseconds < 1_000:
        return f"{milliseconds:,.0f} ms"
    return f"{milliseconds / 1000:,.1f} s" if milliseconds < 60_000 else short_seconds(milliseconds / 1000)


def short_seconds(seconds: float | None) -> str:
    """Return a duration in its largest fitting unit, such as "14 s" or "9 min". "-" stands for none."""
    if seconds is None:
        return "-"
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:,.0f} s"


def number(value: Any) -> str:
    """Return a count. A question mark stands for one that is not known."""
    return f"{value:,}" if isinstance(value, int) else "?"


def chart(values: Sequence[int], most: int = 60) -> str:
    """Return a bar for each of the last values, the highest for the largest. No bar at all stands for zero."""
    shown = values[-most:]
    highest = max(shown, default=0)
    return "".join(_BARS[(value * len(_BARS) - 1) // highest] if value > 0 else " " for value in shown)
