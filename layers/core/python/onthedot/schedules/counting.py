"""How many fire times lie in a window, and which is the last one, without computing each of them.

A job that fires every second has 604,800 times in a week. The work here depends on the number of days and of changes of
the clocks in the window.
"""

from collections.abc import Hashable
from typing import Final

from onthedot.schedules.choices import Gap, Overlap
from onthedot.schedules.cron import parse_cron
from onthedot.schedules.cron_fields import DAY_WALLS, Cron
from onthedot.schedules.schedule import CronSchedule, EverySchedule, Schedule, contains, fires_between, next_fire
from onthedot.schedules.zones import WALL_MS, zone

_SECOND_MS: Final = 1_000
_FEW: Final = 64
"""The most fire times that are computed one by one."""


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


MINUTE_MS: Final = 60_000


def fires_per_minute(schedule: Schedule, after: int, until: int, most: int | None = None) -> dict[int, int]:
    """Count by the start of each minute. `most` limits the number of fire times, the earliest first."""
    rule = schedule.rule
    if isinstance(rule, EverySchedule) and rule.seconds * 1000 < MINUTE_MS:
        return _frequent(schedule, rule.seconds * 1000, after, until, most)
    minutes: dict[int, int] = {}
    longest = (until - after) // MINUTE_MS + 2  # a rule of this kind fires once in a minute, or twice by a DST policy
    for at in fires_between(schedule, after, until, 2 * longest if most is None else min(most, 2 * longest)):
        start = at - at % MINUTE_MS
        minutes[start] = minutes.get(start, 0) + 1
    return minutes


def minute_pattern(schedule: Schedule, position: int) -> Hashable:
    """Return a value that is equal for schedules which fire equally often in each minute from their positions on.

    Jobs that recur by `every` have a beat of their own. Most of them differ only within a minute.
    """
    rule = schedule.rule
    if isinstance(rule, EverySchedule) and schedule.end_at is None and contains(schedule, position):
        period, into = rule.seconds * 1000, position % MINUTE_MS
        if period % MINUTE_MS == 0:
            return rule.seconds, position - into
        if MINUTE_MS % period == 0:
            return rule.seconds, position - into, (MINUTE_MS - 1 - into) // period
    return schedule, position


def _frequent(schedule: Schedule, period: int, after: int, until: int, most: int | None) -> dict[int, int]:
    """Count the fire times of a rule that fires several times in a minute."""
    first = next_fire(schedule, after)
    if first is None:
        return {}
    end = until if schedule.end_at is None else min(until, schedule.end_at + 1)
    if most is not None:
        end = min(end, first + (most - 1) * period + 1)
    minutes: dict[int, int] = {}
    for start in range(first - first % MINUTE_MS, end, MINUTE_MS):
        before = max(0, -((first - start) // period))
        behind = max(0, -((first - min(start + MINUTE_MS, end)) // period))
        if behind > before:
            minutes[start] = behind - before
    return minutes
