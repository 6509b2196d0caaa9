"""Schedules as people say them. A cron expression that is not simple stays as it is."""

import re
from datetime import datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from onthedot.cli.common.durations import exactly

_DAYS: Final = ("Sundays", "Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays")
_NAMES: Final = {name[:3].lower(): number for number, name in enumerate(_DAYS)}
_WEEKDAYS: Final = frozenset({"mon-fri", "1-5"})
_ALIASES: Final = {"@hourly": "every hour", "@daily": "at 00:00 every day", "@midnight": "at 00:00 every day"}
_NUMBER: Final = re.compile(r"\d{1,2}", re.ASCII)
_STEP: Final = re.compile(r"(?:\*|0)/(\d{1,2})", re.ASCII)


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
    if not (_NUMBER.fullmatch(minute) and _NUMBER.fullmatch(hour)):
        return None
    days = _on_days(day, weekday)
    return None if days is None else f"at {int(hour):02}:{int(minute):02} {days}"


def _within_the_hour(minute: str) -> str | None:
    step = _STEP.fullmatch(minute)
    if minute == "*":
        return "every minute"
    if _NUMBER.fullmatch(minute):
        return f"{int(minute)} minutes past every hour" if int(minute) else "every hour"
    # Only a divisor of the hour gives equal distances.
    return f"every {int(step[1])} minutes" if step and int(step[1]) > 1 and 60 % int(step[1]) == 0 else None


def _on_days(day: str, weekday: str) -> str | None:
    if day == weekday == "*":
        return "every day"
    if weekday == "*":
        return f"on day {int(day)} of the month" if _NUMBER.fullmatch(day) else None
    if day != "*":
        return None
    if weekday in _WEEKDAYS:
        return "on weekdays"
    number = _NAMES.get(weekday, int(weekday) % 7 if _NUMBER.fullmatch(weekday) else None)
    return None if number is None else f"on {_DAYS[number]}"


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
