"""The next fire time of a cron expression in a time zone, through changes of the clocks.

An expression that covers all 24 hours fires whenever clocks show one of its times, also when they show it again. So
where clocks change by whole hours, the time between two fires stays the same. For all other expressions:

- A time that clocks jump over runs at the first instant after the jump (`run_after`, several such times once) or not at
  all (`skip`).
- A time that clocks show twice runs the first time (`once`) or both times (`twice`).
"""

from typing import Final

from onthedot.schedules.choices import DstPolicy, Gap, Overlap
from onthedot.schedules.cron_fields import SEARCH_YEARS, Cron
from onthedot.schedules.zones import LAST_INSTANT, WALL_MS, Stretch, Zone

_SEARCH_MS: Final = SEARCH_YEARS * 366 * 86_400_000


DEFAULT_DST: Final = DstPolicy()


def next_instant(cron: Cron, zone: Zone, dst: DstPolicy, after: int) -> int | None:
    """Return the first fire time after this instant and from 1970 on. None if there is none within SEARCH_YEARS."""
    after = max(after, -1)
    here = zone.stretch(max(after, 0))
    again = cron.every_hour or dst.overlap is Overlap.TWICE
    wall = max((after + here.offset) // WALL_MS + 1, _entry(here, again))
    limit = min(after + _SEARCH_MS, LAST_INSTANT)
    searched, found = wall, cron.first_from(wall)
    while found is not None and here.end <= limit:
        at = found * WALL_MS - here.offset
        if at < here.end:
            return at
        there = zone.stretch(here.end)
        if found < there.first_wall and dst.gap is Gap.RUN_AFTER and not cron.every_hour:
            return there.start
        here, wall = there, _entry(there, again)
        if not searched <= wall <= found:
            searched, found = wall, cron.first_from(wall)
    return None


def missing_walls(cron: Cron, zone: Zone, instant: int) -> list[int]:
    """Return the matching walls that clocks jump over at this instant. It must be the first instant after a jump."""
    here = zone.stretch(instant)
    if instant != here.start or instant == 0:
        return []
    wall = -(-(instant + zone.stretch(instant - 1).offset) // WALL_MS)
    walls = []
    while (found := cron.first_from(wall)) is not None and found < here.first_wall:
        walls.append(found)
        wall = found + 1
    return walls


def _entry(stretch: Stretch, again: bool) -> int:
    """Return the first wall of a stretch to search. With `again`, walls that clocks have shown before count too."""
    return stretch.first_wall if again else stretch.fresh_wall
