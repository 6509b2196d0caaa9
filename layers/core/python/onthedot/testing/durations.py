"""Read durations as tests write them: `"1h"`, `"1h30m"`, `3600`, or a timedelta."""

import re
from datetime import timedelta
from typing import Final

Duration = str | float | timedelta
_UNITS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|[smhdw])\s*")


def milliseconds(duration: Duration) -> int:
    """Return a duration in milliseconds. Raise ValueError when it is negative or no duration."""
    if isinstance(duration, timedelta):
        duration = duration.total_seconds()
    if isinstance(duration, str):
        return _read(duration)
    if not 0 <= duration < float("inf"):
        raise ValueError(f"{duration!r} is no duration; time only goes forward")
    return round(duration * 1000)


def _read(text: str) -> int:
    parts = list(_PART.finditer(text.strip()))
    if not parts or "".join(part.group(0) for part in parts) != text.strip():
        raise ValueError(f"{text!r} is no duration; write it as 90s, 10m, 1h30m, 2d or 1w")
    return round(sum(float(part[1]) * _UNITS[part[2]] for part in parts))
