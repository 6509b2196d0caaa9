"""Read and show times: RFC 3339 with an offset or epoch seconds in, RFC 3339 in UTC with milliseconds out.

Inside the scheduler there are epoch milliseconds only. A finer time is rounded *up*, because no run may fire early.
"""

import re
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, Decimal
from typing import Any, Final

from onthedot.domain.instants import EPOCH, format_instant

_HOW: Final = "give RFC 3339 with an offset, such as 2030-01-31T09:30:00Z or …+02:00, or epoch seconds as a number"
# Stricter than datetime.fromisoformat, which also takes week dates, missing seconds and other ISO 8601.
_RFC_3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)?", re.ASCII
)


def parse_instant(value: Any) -> int:
    """Return the epoch milliseconds of a time as a user writes it. Raise ValueError that says what to write instead."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError(f"is not a time; {_HOW}")  # noqa: TRY004 - pydantic takes ValueError for a refusal
    return _parse_text(value) if isinstance(value, str) else milliseconds(value)


def milliseconds(seconds: float) -> int:
    """Return seconds as milliseconds, by the decimal number that was written: 0.123 is 123 ms, never a little more."""
    if isinstance(seconds, int):
        return seconds * 1000
    return int(Decimal(repr(seconds)).scaleb(3).to_integral_value(ROUND_CEILING))


def show_time(instant: int | None) -> str | None:
    """Return an instant as the API shows it, or None where there is none."""
    return None if instant is None else format_instant(instant)


def _parse_text(text: str) -> int:
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise ValueError(f"is not a time; {_HOW}")
    *parts, fraction, offset = match.groups()
    if offset is None:
        raise ValueError("has no offset from UTC; add Z or ±hh:mm, such as 2030-01-31T09:30:00Z")
    year, month, day, hour, minute, second = (int(part) for part in parts)
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as error:
        raise ValueError(f"does not exist ({error}); {_HOW}") from error
    return (moment - EPOCH) // timedelta(milliseconds=1) + _fraction_ms(fraction or "") - _offset_ms(offset)


def _fraction_ms(digits: str) -> int:
    return int(digits[:3].ljust(3, "0")) + (digits[3:].strip("0") != "")


def _offset_ms(offset: str) -> int:
    if offset in "Zz":
        return 0
    hours, minutes = int(offset[1:3]), int(offset[4:6])
    if hours > 23 or minutes > 59:
        raise ValueError(f"has an impossible offset {offset}; {_HOW}")
    return (-1 if offset[0] == "-" else 1) * (hours * 60 + minutes) * 60_000
