"""How many fire times lie in a window, and which is the last one, without computing each of them.

A job that fires every second has 604,800 times in a week. The work here depends on the number of days and of changes of
the clocks in the window.
"""

from typing import Final

from onthedot.domain.schedules.cron import DAY_WALLS, Cron, parse_cron
from onthedot.domain.schedules.cron_zoned import Gap, Overlap
from onthedot.domain.schedules.schedule import CronSchedule, EverySchedule, Schedule, fires_between, next_fire
from onthedot.domain.schedules.zones import WALL_MS, zone

_SECOND_MS: Final = 1_000
_FEW: Final = 64
"""Most fire times that are computed one by one."""


def count_fires(schedule: Schedule, after: int, until: int) -> int:
    """Return the number of fire times with `after < time < until`."""
    few = fires_between(schedule, after, until, _FEW)
    if len(few) < _FEW:
        return len(few)
    after = few[-1]
    end = until if schedule.end_at is None else min(until, schedule.end_at + 1)
    if isinstance(schedule.rule, EverySchedule):
        return _FEW + (end - 1 - after) // (schedule.rule.seconds * _SECOND_MS)
    return _FEW + _count_cron(schedule.rule, after, end)


def last_fire(schedule: Schedule, after: int, until: int) -> int | None:
    """Return the last fire time with `after < time < until`, or None. It is found by halving the window."""
    found, high = next_fire(schedule, after), until
    if found is None or found >= until:
        return None
    while (following := next_fire(schedule, found)) is not None and following < until:
        middle = (following + high) // 2
        later = next_fire(schedule, middle)
        if later is not None and later < until:
            found = later
        else:
            found, high = following, middle + 1
    return found


def _count_cron(rule: CronSchedule, after: int, end: int) -> int:
    """Count through the stretches of constant offset between two instants, by the rules of `next_instant`."""
    cron, place, count = parse_cron(rule.expression), zone(rule.timezone), 0
    again = cron.every_hour or rule.dst.overlap is Overlap.TWICE
    here = place.stretch(after)
    wall = max((after + here.offset) // WALL_MS + 1, here.first_wall if again else here.fresh_wall)
    while True:
        last = min(here.end, end)
        behind = -(-(last + here.offset) // WALL_MS)
        count += _matching(cron, wall, behind)
        if end <= here.end:
            return count
        there = place.stretch(here.end)
        jumped_over = _matching(cron, max(wall, behind), there.first_wall)
        wall = there.first_wall if again else there.fresh_wall
        if jumped_over and rule.dst.gap is Gap.RUN_AFTER and not cron.every_hour:
            fires_anyway = there.start == there.first_wall * WALL_MS - there.offset and cron.first_from(wall) == wall
            count += not fires_anyway
        here = there


def _matching(cron: Cron, first: int, behind: int) -> int:
    """Return the number of matching walls from `first` to before `behind`."""
    if behind <= first:
        return 0
    (day, minute), (last_day, last_minute) = divmod(first, DAY_WALLS), divmod(behind, DAY_WALLS)
    begun = (cron.times & ((1 << minute) - 1)).bit_count() if cron.has_day(day) else 0
    rest = (cron.times & ((1 << last_minute) - 1)).bit_count() if cron.has_day(last_day) else 0
    return cron.count_days(day, last_day) * cron.times.bit_count() - begun + rest
