"""Times, durations and schedules as people write them and read them.

People write 90, 10m, 1h30m or 2 days; tomorrow 9:00, fri 17:30, 2026-11-20 9:00 or 9pm; and 12h for a time in the past.
"""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import click

_NUMBER: Final = re.compile(r"\d{1,12}(?:\.\d{1,9})?", re.ASCII)
_PART: Final = re.compile(r"(\d{1,12}(?:\.\d{1,9})?)([smhdw])", re.ASCII)
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
HOW_LONG: Final = "give seconds, or numbers with s, m, h, d or w, such as 90, 10m or 1h30m"
_WORDS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_ENOUGH: Final = 2
"""A unit is used from two of it on, so that rounding hides little."""
_NEAR: Final = timedelta(days=300)
"""Dates farther away than this have their year."""
_RELATIVE_DAYS: Final = {-1: "yesterday", 0: "today", 1: "tomorrow"}
_CLOCK: Final = r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::(?P<second>\d\d))?)?\s*(?P<half>am|pm)?"
_WRITTEN: Final = re.compile(rf"(?:(?P<day>[a-z]+|\d{{4}}-\d\d-\d\d)[ t]+(?:at )?)?{_CLOCK}", re.ASCII)
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_OFFSETS: Final = {"today": 0, "tomorrow": 1}
_EPOCH: Final = re.compile(r"\d{9,}(?:\.\d+)?", re.ASCII)
_WEEK: Final = 7
LONGEST_PAST: Final = 3e9
"""Seconds. No job is older."""
HOW: Final = 'write "tomorrow 9:00", "fri 17:30", "9:00", "2026-11-20 9:00", or RFC 3339 with an offset'
_CRON_DAYS: Final = ("Sundays", "Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays")
_CRON_NAMES: Final = {name[:3].lower(): number for number, name in enumerate(_CRON_DAYS)}
_ALIASES: Final = {"@hourly": "every hour", "@daily": "at 00:00 every day", "@midnight": "at 00:00 every day"}
_FIELD: Final = re.compile(r"\d{1,2}", re.ASCII)
_STEP: Final = re.compile(r"(?:\*|0)/(\d{1,2})", re.ASCII)


# Durations


def read_duration(text: str) -> float:
    """Return the seconds of a duration, as an int when they are whole. Raise ValueError."""
    plain = text.replace(" ", "").lower()
    if _NUMBER.fullmatch(plain):
        seconds = float(plain)
    elif plain and _PART.sub("", plain) == "":
        seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(plain))
    else:
        raise ValueError(f"{text!r} is not a duration; {HOW_LONG}")
    return int(seconds) if seconds.is_integer() else seconds


def in_words(seconds: float) -> str:
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


# Times of the API


def this_moment() -> datetime:
    return datetime.now(UTC)


def read_moment(text: Any) -> datetime | None:
    return datetime.fromisoformat(text) if isinstance(text, str) else None


def day_and_clock(moment: datetime, now: datetime, zone: tzinfo | None = None, *, words: bool = True) -> str:
    """Return the day and the time of day in a zone, else in the zone of this machine. `words` allows "today"."""
    local, today = moment.astimezone(zone), now.astimezone(zone).date()
    clock = f"{local:%H:%M}" if local.second == 0 else f"{local:%H:%M:%S}"
    year = "" if abs(moment - now) < _NEAR else f" {local.year}"
    date = f"{local:%a} {local.day} {local:%b}{year}"
    return f"{_RELATIVE_DAYS.get((local.date() - today).days, date) if words else date} {clock}"


def in_full(moment: datetime, now: datetime, zone: tzinfo | None = None) -> str:
    """Return day, time, zone and distance, such as "today 14:32:05 CET, in 10 minutes"."""
    name = moment.astimezone(zone).tzname()
    return f"{day_and_clock(moment, now, zone)} {name}, {distance(moment, now)}"


def distance(moment: datetime, now: datetime) -> str:
    """Return how far a time is from now, such as "in 10 minutes" or "2 hours ago"."""
    seconds = (moment - now).total_seconds()
    if abs(seconds) < 1:
        return "now"
    words = in_words(abs(seconds))
    return f"in {words}" if seconds > 0 else f"{words} ago"


# Times of users


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
    found = [number for number, name in enumerate(_WEEKDAYS) if len(day) >= 3 and name.startswith(day)]
    return found[0] if found else None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise ValueError(f"there is no time zone {name!r}; give an IANA name such as Europe/Berlin") from None


class PastTime(NamedTuple):
    written: str
    """As the user wrote it, for the commands that we suggest."""
    text: str
    """As the API takes it: epoch seconds, or RFC 3339."""

    @property
    def at(self) -> datetime:
        """The time. Raise click.UsageError when it is not a time, or has no offset."""
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


# Schedules


def cron_in_words(expression: str) -> str:
    """Return a simple expression in words, such as "at 09:00 on weekdays", and any other one unchanged."""
    plain = " ".join(expression.lower().split())
    return _ALIASES.get(plain) or _fields_in_words(plain.split(" ")) or expression


def _fields_in_words(fields: list[str]) -> str | None:
    if len(fields) != 5 or fields[3] != "*":
        return None
    minute, hour, day, _, weekday = fields
    if hour == day == weekday == "*":
        return _within_the_hour(minute)
    if not (_FIELD.fullmatch(minute) and _FIELD.fullmatch(hour)):
        return None
    days = _on_days(day, weekday)
    return None if days is None else f"at {int(hour):02}:{int(minute):02} {days}"


def _within_the_hour(minute: str) -> str | None:
    step = _STEP.fullmatch(minute)
    if minute == "*":
        return "every minute"
    if _FIELD.fullmatch(minute):
        return f"{int(minute)} minutes past every hour" if int(minute) else "every hour"
    # Only a divisor of the hour gives equal distances.
    return f"every {int(step[1])} minutes" if step and int(step[1]) > 1 and 60 % int(step[1]) == 0 else None


def _on_days(day: str, weekday: str) -> str | None:
    if day == weekday == "*":
        return "every day"
    if weekday == "*":
        return f"on day {int(day)} of the month" if _FIELD.fullmatch(day) else None
    if day != "*":
        return None
    if weekday in ("mon-fri", "1-5"):
        return "on weekdays"
    number = _CRON_NAMES.get(weekday, int(weekday) % 7 if _FIELD.fullmatch(weekday) else None)
    return None if number is None else f"on {_CRON_DAYS[number]}"


def schedule_in_words(job: dict[str, Any], now: datetime) -> str:
    """Return when a job runs. The time zone is named where its clocks differ from those of this machine."""
    if every := job.get("every"):
        return f"every {exactly(every)}"
    if cron := job.get("cron"):
        zone = str(job.get("timezone") or "UTC")
        return cron_in_words(cron).removeprefix("at ") + ("" if _is_here(zone, now) else f", {zone}")
    return "on events" if job.get("kind") == "event" else "once"


def _is_here(zone: str, now: datetime) -> bool:
    try:
        return now.astimezone(ZoneInfo(zone)).utcoffset() == now.astimezone().utcoffset()
    except (OSError, ValueError, KeyError):
        return False
