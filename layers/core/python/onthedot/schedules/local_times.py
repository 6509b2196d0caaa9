"""Local times without an offset, and the instant that clocks of a zone show them."""

from dataclasses import dataclass
from typing import Final

from onthedot.core.clock import moment_of
from onthedot.schedules.choices import DstPolicy, Gap, Overlap
from onthedot.schedules.errors import BadSchedule
from onthedot.schedules.zones import Stretch, Zone

_REACH_MS: Final = 36 * 3_600_000
"""More than any zone is ahead of UTC, behind it, or puts its clocks forward."""
_DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class LocalTime:
    """A date and time without an offset, as a clock shows it."""

    shown: int
    """Milliseconds from 1970-01-01T00:00 to the time, as if the clock were set to UTC."""
    timezone: str | None = None
    """The zone if the request gives none. None: the request must give one."""
    leap: bool = False
    """Whether the second was written as 60. `shown` is the next second then."""


def instant_of(local: LocalTime, zone: Zone, dst: DstPolicy) -> int:
    """Return the instant at which clocks of the zone show the time.

    Raise BadSchedule for a time that they jump over or show twice, if the policy has no instant for it, and for a
    leap second where there can be none.
    """
    showing, jump = _showings(local.shown, zone)
    if len(showing) > 1 and dst.overlap is Overlap.TWICE:
        advice = "set dst.overlap to once for the first, or give at with an offset, without timezone and dst"
        raise BadSchedule("at", f"is shown twice by clocks in {zone.name}, and the job runs once; {advice}")
    if not showing and dst.gap is Gap.SKIP:
        raise BadSchedule("at", f"does not exist in {zone.name}: {_jump(zone, jump)}; give a time before or after")
    found = showing[0] if showing else jump
    if local.leap:
        check_leap_second(found)
    return found


def check_leap_second(following: int) -> None:
    """Raise BadSchedule unless the second before this instant may be a leap second, which ends a day in UTC."""
    if following % _DAY_MS >= 1_000:
        raise BadSchedule("at", "has 60 as its second, which comes only after 23:59:59 UTC; give 00 to 59")


def _showings(shown: int, zone: Zone) -> tuple[list[int], int]:
    """Return the instants that clocks show the time, and the first instant at which they show a later one."""
    showing: list[int] = []
    stretch = zone.stretch(max(0, shown - _REACH_MS))
    while True:
        at = shown - stretch.offset
        if stretch.start <= at < stretch.end or (stretch.start == 0 and at < 0):
            showing.append(at)
        if stretch.start > at and not showing:
            return [], stretch.start
        if stretch.end > shown + _REACH_MS:
            return showing, stretch.start
        stretch = zone.stretch(stretch.end)


def _jump(zone: Zone, start: int) -> str:
    before, after = zone.stretch(start - 1), zone.stretch(start)
    return f"clocks jump from {_clock(start, before)} to {_clock(start, after)}, and dst.gap is skip"


def _clock(instant: int, stretch: Stretch) -> str:
    return f"{moment_of(instant + stretch.offset):%Y-%m-%d %H:%M}"
