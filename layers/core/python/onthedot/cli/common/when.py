"""Times as people write them: tomorrow 9:00, fri 17:30, 2026-11-20 9:00, 9pm; in the past also 12h."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import click

from onthedot.cli.common.durations import read_duration
from onthedot.cli.common.moments import this_moment

_CLOCK: Final = r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::(?P<second>\d\d))?)?\s*(?P<half>am|pm)?"
_WRITTEN: Final = re.compile(rf"(?:(?P<day>[a-z]+|\d{{4}}-\d\d-\d\d)[ t]+(?:at )?)?{_CLOCK}", re.ASCII)
_NAMES: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_OFFSETS: Final = {"today": 0, "tomorrow": 1}
_EPOCH: Final = re.compile(r"\d{9,}(?:\.\d+)?", re.ASCII)
_WEEK: Final = 7
LONGEST_PAST: Final = 3e9
"""Seconds. No job is older."""
HOW: Final = 'write "tomorrow 9:00", "fri 17:30", "9:00", "2026-11-20 9:00", or RFC 3339 with an offset'


def read_when(text: str, timezone: str | None, now: datetime) -> str | float:
    """Return a time as the API takes it: without an offset when the user named a time zone, else with one.

    Days in words are those of the zone, or of this machine. RFC 3339 and EventBridge's at(…) stay as they are. Raise
    ValueError.
    """
    plain = " ".join(text.lower().split())
    if _EPOCH.fullmatch(plain):
        return float(plain)
    written = _WRITTEN.fullmatch(plain)
    if written is None or not (written["minute"] or written["half"]):
        return _as_the_api_takes_it(text)
    zone = None if timezone is None else _zone(timezone)
    local_now = now.astimezone(zone).replace(tzinfo=None)
    moment = _on_a_day(written["day"], _clock(written, text), local_now, text)
    return moment.isoformat() if timezone else moment.astimezone().isoformat()


def _as_the_api_takes_it(text: str) -> str:
    if re.match(r"\d{4}-|at\s*\(", text.strip(), re.IGNORECASE):
        return text.strip()
    raise ValueError(f"{text!r} is not a time; {HOW}")


def _clock(written: re.Match[str], text: str) -> time:
    hour, minute, second = (int(written[name] or 0) for name in ("hour", "minute", "second"))
    half = written["half"]
    if half and not 1 <= hour <= 12:
        raise ValueError(f"{text!r} is not a time; with {half}, hours go from 1 to 12")
    try:
        return time(hour % 12 + (12 if half == "pm" else 0) if half else hour, minute, second)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time: {error}") from None


def _on_a_day(day: str | None, clock: time, now: datetime, text: str) -> datetime:
    """Return the local time. Without a day, or with a weekday, it is the next one."""
    number = now.weekday() if day is None else _weekday(day)
    if number is not None:
        moment = datetime.combine(now.date() + timedelta(days=(number - now.weekday()) % _WEEK), clock)
        return moment if moment > now else moment + timedelta(days=1 if day is None else _WEEK)
    if day in _OFFSETS:
        moment = datetime.combine(now.date() + timedelta(days=_OFFSETS[day]), clock)
        if moment < now:
            raise ValueError(f"{text!r} has passed; it is {now:%H:%M} now")
        return moment
    try:
        return datetime.combine(date.fromisoformat(str(day)), clock)
    except ValueError:
        raise ValueError(f"{text!r} names no known day; {HOW}") from None


def _weekday(day: str) -> int | None:
    found = [number for number, name in enumerate(_NAMES) if len(day) >= 3 and name.startswith(day)]
    return found[0] if found else None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise ValueError(f"there is no time zone {name!r}; give an IANA name such as Europe/Berlin") from None


class PastTime(NamedTuple):
    """A time in the past."""

    written: str
    """As the user wrote it, for the commands that we suggest."""
    text: str
    """As the API takes it: epoch seconds, or RFC 3339."""

    @property
    def at(self) -> datetime:
        """The time. Raise click.UsageError when it is none, or has no offset."""
        try:
            is_epoch = _EPOCH.fullmatch(self.text)
            at = datetime.fromtimestamp(float(self.text), UTC) if is_epoch else datetime.fromisoformat(self.text)
        except (ValueError, OverflowError, OSError) as error:
            raise click.UsageError(f"{self.written!r} is not a time: {error}") from error
        if at.tzinfo is None:
            raise click.UsageError(
                f"{self.written!r} has no offset; write 2026-11-20T09:00:00Z, or 12h for 12 hours ago"
            )
        return at


class Past(click.ParamType[PastTime]):
    """A time in the past: 12h for 12 hours ago, or a time."""

    name = "WHEN"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> PastTime:
        if isinstance(value, PastTime):
            return value
        text, now = str(value).strip(), this_moment()
        if _EPOCH.fullmatch(text):
            return PastTime(text, text)
        try:
            seconds = min(read_duration(text), LONGEST_PAST)
        except ValueError:
            try:
                return PastTime(text, str(read_when(text, None, now)))
            except ValueError as error:
                self.fail(f"{error}, or 12h for 12 hours ago", param, ctx)
        return PastTime(text, (now - timedelta(seconds=seconds)).isoformat())
