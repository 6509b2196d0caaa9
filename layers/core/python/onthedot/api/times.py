"""Read and show times: RFC 3339 with an offset or epoch seconds in, RFC 3339 in UTC with milliseconds out.

Inside the scheduler there are epoch milliseconds only. A finer time is rounded *up*, because no run may fire early.
"""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, Decimal
from typing import Any, Final

from onthedot.core.clock import EPOCH, format_instant
from onthedot.schedules.local_times import LocalTime, check_leap_second
from onthedot.schedules.schedule import UTC_NAME

_HOW: Final = "give RFC 3339 with an offset, such as 2030-01-31T09:30:00Z or …+02:00, or epoch seconds as a number"
# Stricter than datetime.fromisoformat, which also takes week dates, missing seconds and other ISO 8601.
_RFC_3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)?", re.ASCII
)


_EVENTBRIDGE: Final = re.compile(r"at\s*\((.*)\)", re.ASCII | re.IGNORECASE)


def parse_instant(value: Any) -> int:
    """Return epoch milliseconds. Raise ValueError that says what to write instead."""
    found = _parse(value)
    if isinstance(found, LocalTime):
        raise ValueError("has no offset from UTC; add Z or ±hh:mm, such as 2030-01-31T09:30:00Z")  # noqa: TRY004
    return found


def parse_at(value: Any) -> int | LocalTime:
    """Return an instant, or a local time for which the request must name a zone. Raise ValueError.

    `at(2030-01-31T09:30:00)` is EventBridge's spelling of a local time, in UTC unless the request names a zone.
    """
    wrapped = _EVENTBRIDGE.fullmatch(value.strip()) if isinstance(value, str) else None
    if wrapped is None:
        return _parse(value)
    found = _parse(wrapped[1].strip())
    if not isinstance(found, LocalTime):
        raise ValueError(f"has an offset inside at(…); write {wrapped[1].strip()[:40]}")  # noqa: TRY004
    return replace(found, timezone=UTC_NAME)


def _parse(value: Any) -> int | LocalTime:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError(f"is not a time; {_HOW}")  # noqa: TRY004 - pydantic takes ValueError for a refusal
    return _parse_text(value) if isinstance(value, str) else milliseconds(value)


def milliseconds(seconds: float) -> int:
    """Go by the decimal number that was written: 0.123 is 123 ms, never a little more."""
    if isinstance(seconds, int):
        return seconds * 1000
    return int(Decimal(repr(seconds)).scaleb(3).to_integral_value(ROUND_CEILING))


def show_time(instant: int | None) -> str | None:
    return None if instant is None else format_instant(instant)


def _parse_text(text: str) -> int | LocalTime:
    match = _RFC_3339.fullmatch(text)
    if match is None:
        raise ValueError(f"is not a time; {_HOW}")
    *parts, fraction, offset = match.groups()
    year, month, day, hour, minute, second = (int(part) for part in parts)
    # A leap second is the next second.
    leap = second == 60
    try:
        moment = datetime(year, month, day, hour, minute, 59 if leap else second, tzinfo=UTC)
    except ValueError as error:
        raise ValueError(f"does not exist ({error}); {_HOW}") from error
    shown = (moment - EPOCH) // timedelta(milliseconds=1) + leap * 1000 + _fraction_ms(fraction or "")
    if offset is None:
        return LocalTime(shown, leap=leap)
    instant = shown - _offset_ms(offset)
    if leap:
        check_leap_second(instant)
    return instant


def _fraction_ms(digits: str) -> int:
    return int(digits[:3].ljust(3, "0")) + (digits[3:].strip("0") != "")


def _offset_ms(offset: str) -> int:
    if offset in "Zz":
        return 0
    hours, minutes = int(offset[1:3]), int(offset[4:6])
    if hours > 23 or minutes > 59:
        raise ValueError(f"has an impossible offset {offset}; {_HOW}")
    return (-1 if offset[0] == "-" else 1) * (hours * 60 + minutes) * 60_000
