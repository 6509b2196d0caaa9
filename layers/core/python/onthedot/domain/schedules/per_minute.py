"""How many fire times lie in each minute of a window. The work depends on the minutes and not on the fire times."""

from collections.abc import Hashable
from typing import Final

from onthedot.domain.schedules.schedule import EverySchedule, Schedule, contains, fires_between, next_fire

MINUTE_MS: Final = 60_000


def fires_per_minute(schedule: Schedule, after: int, until: int, most: int | None = None) -> dict[int, int]:
    """Return the number of fire times with `after < time < until`, by the start of their minute.

    `most` limits the number of fire times, the earliest first.
    """
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
