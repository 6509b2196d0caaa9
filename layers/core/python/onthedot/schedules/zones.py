"""Time zones as stretches of constant offset, computed through zoneinfo and cached.

A zone is an IANA name in its exact spelling. Its data come from the system or, where the system has none (Lambda), from
the package `tzdata`. Instants are epoch milliseconds. Walls are minutes of local time since 1970-01-01T00:00.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from onthedot.core.clock import moment_of
from onthedot.schedules.errors import BadTimezone

WALL_MS: Final = 60_000
LAST_INSTANT: Final = 253_370_764_800_000
"""9999-01-01. Nothing is computed after it, because datetimes end soon after it."""

_MS: Final = timedelta(milliseconds=1)
_DAY_MS: Final = 86_400_000
_CHUNK_MS: Final = 400 * _DAY_MS
_STEP_MS: Final = 3 * _DAY_MS
"""The distance at which offsets are compared. Since 1970 no zone has changed its clocks twice within 6 days."""
_PLACELESS: Final = frozenset({"localtime", "posixrules", "Factory"})
"""Names of files next to the zones. Their meaning depends on the machine."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of time, `start <= instant < end`, with one offset. The next stretch may have the same offset."""

    start: int
    end: int
    offset: int
    """Milliseconds that local time is ahead of UTC."""
    first_wall: int
    """The first whole minute that clocks show in the stretch."""
    fresh_wall: int
    """The first whole minute that clocks did not show before. After clocks were put back it is later than `first_wall`.
    """


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """A time zone. Call `zone()` to get the instance of a name."""

    name: str
    info: ZoneInfo

    def stretch(self, instant: int) -> Stretch:
        # The instant must not be before 1970.
        for stretch in _stretches(self, instant // _CHUNK_MS):
            if instant < stretch.end:
                return stretch
        raise AssertionError("stretches cover their chunk")

    def local(self, instant: int) -> datetime:
        return moment_of(instant).astimezone(self.info)

    def offset(self, instant: int) -> int:
        """Return the milliseconds that local time is ahead of UTC."""
        seconds = min(instant, LAST_INSTANT) // 1000
        return (datetime.fromtimestamp(seconds, self.info).utcoffset() or timedelta()) // _MS


@lru_cache(maxsize=1024)
def zone(name: str) -> Zone:
    """Raise BadTimezone."""
    if name not in known_timezones():
        raise BadTimezone(_unknown(name))
    return Zone(name, ZoneInfo(name))


@lru_cache(maxsize=1)
def known_timezones() -> frozenset[str]:
    return frozenset(available_timezones()) - _PLACELESS


def _unknown(name: str) -> str:
    shown = ascii(name[:40])
    if not (close := _nearest(name[:40])):
        return f"{shown} is not a time zone; give an IANA name such as UTC, Europe/Berlin or America/New_York"
    return f"{shown} is not a time zone; did you mean {close}?"


def _nearest(name: str) -> str | None:
    """Compare with whole names and with cities, in any case."""
    spelling = name.strip().replace(" ", "_").casefold()
    spelled = {key.rpartition("/")[2].casefold(): key for key in sorted(known_timezones(), reverse=True) if "/" in key}
    spelled |= {key.casefold(): key for key in sorted(known_timezones())}
    close = get_close_matches(spelling, spelled, n=1, cutoff=0.75)
    return spelled[close[0]] if close else None


@lru_cache(maxsize=8192)
def _stretches(place: Zone, chunk: int) -> tuple[Stretch, ...]:
    # Changes of the clocks shortly before the chunk are found too.
    first, end = chunk * _CHUNK_MS, (chunk + 1) * _CHUNK_MS
    start = first - _STEP_MS
    offset, shown, found = place.offset(start), 0, []
    for change in [*_changes(place, start, end), end]:
        if change > first:
            begin = max(start, first)
            wall = begin + offset
            found.append(Stretch(begin, change, offset, _ceil(wall), _ceil(max(wall, shown))))
        shown = max(shown, change + offset)
        start, offset = change, place.offset(change)
    return tuple(found)


def _changes(place: Zone, start: int, end: int) -> list[int]:
    steps = [*range(start, end, _STEP_MS), end - 1]
    offsets = [place.offset(step) for step in steps]
    return [_change(place, steps[n], steps[n + 1]) for n in range(len(steps) - 1) if offsets[n] != offsets[n + 1]]


def _change(place: Zone, before: int, after: int) -> int:
    """Return the first instant with the new offset. All changes happen on whole seconds."""
    old, low, high = place.offset(before), before // 1000, -(-after // 1000)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if place.offset(middle * 1000) == old else (low, middle)
    return high * 1000


def _ceil(local_ms: int) -> int:
    return -(-local_ms // WALL_MS)
