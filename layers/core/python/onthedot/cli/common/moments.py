"""Times as people read them: the day in words, the clock of a zone, and how far away it is."""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Final

from onthedot.cli.common.durations import in_words

_NEAR: Final = timedelta(days=300)
"""Dates farther away than this have their year."""
_DAYS: Final = {-1: "yesterday", 0: "today", 1: "tomorrow"}


def this_moment() -> datetime:
    return datetime.now(UTC)


def read_moment(text: Any) -> datetime | None:
    """Read a time of the API. None stays None."""
    return datetime.fromisoformat(text) if isinstance(text, str) else None


def day_and_clock(moment: datetime, now: datetime, zone: tzinfo | None = None, *, words: bool = True) -> str:
    """Return the day and the time of day in a zone, else in the zone of this machine. `words` allows "today"."""
    local, today = moment.astimezone(zone), now.astimezone(zone).date()
    clock = f"{local:%H:%M}" if local.second == 0 else f"{local:%H:%M:%S}"
    year = "" if abs(moment - now) < _NEAR else f" {local.year}"
    date = f"{local:%a} {local.day} {local:%b}{year}"
    return f"{_DAYS.get((local.date() - today).days, date) if words else date} {clock}"


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
