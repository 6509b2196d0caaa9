"""Count the fire times of a long span without computing each of them, and find the last one."""

from typing import Final

from onthedot.domain.schedules.cron import DAY_WALLS, Cron, parse_cron
from onthedot.domain.schedules.schedule import CronSchedule, EverySchedule, Schedule, fires_between, next_fire
from onthedot.domain.schedules.zones import WALL_MS, zone

_DAY_MS: Final = DAY_WALLS * WALL_MS
_DAYS_OF_STRETCH: Final = 2
"""Days at the ends of a stretch whose times are computed one by one, because clocks changed there."""


def count_fires(schedule: Schedule, after: int, until: int) -> int:
    """Return the number of fire times with `after < time < until`."""
    if schedule.start_at is not None:
        after = max(after, schedule.start_at - 1)
    if schedule.end_at is not None:
        until = min(until, schedule.end_at + 1)
    rule = schedule.rule
    if until <= after:
        return 0
    return _count_every(rule, after, until) if isinstance(rule, EverySchedule) else _count_cron(rule, after, until)


def last_fire(schedule: Schedule, after: int, until: int) -> int | None:
    """Return the last fire time with `after < time < until`, or None.

    Schedules compute fire times forwards only, so this looks back in doubling steps.
    """
    span = 1_000  # nothing fires more often than once a second
    while True:
        begin = max(after, until - span)
        at, last = next_fire(schedule, begin), None
        while at is not None and at < until:
            at, last = next_fire(schedule, at), at
        if last is not None or begin == after:
            return last
        span *= 2


def _count_every(rule: EverySchedule, after: int, until: int) -> int:
    first = rule.next_after(after)
    return 0 if first is None or first >= until else (until - 1 - first) // (rule.seconds * 1000) + 1


def _count_cron(rule: CronSchedule, after: int, until: int) -> int:
    """Count whole local days between two changes of the clocks by their number, and the other times one by one."""
    cron, place, schedule = parse_cron(rule.expression), zone(rule.timezone), Schedule(rule)
    count, at = 0, max(after, 0)
    while at < until - 1:
        here = place.stretch(at)
        first_day = -(-(max(at + 1, here.start + _DAYS_OF_STRETCH * _DAY_MS) + here.offset) // _DAY_MS)
        last_day = (min(here.end - _DAYS_OF_STRETCH * _DAY_MS, until) + here.offset) // _DAY_MS
        if first_day < last_day:
            begin, end = first_day * _DAY_MS - here.offset, last_day * _DAY_MS - here.offset
            count += len(fires_between(schedule, at, begin, _DAY_MS)) + _count_days(cron, first_day, last_day)
            at = end - 1
        behind = min(until, here.end + _DAY_MS)
        count += len(fires_between(schedule, at, behind, _DAY_MS))
        at = behind - 1
    return count


def _count_days(cron: Cron, first: int, until: int) -> int:
    """Count the matching walls of whole days."""
    days, day = 0, cron.day_from(first)
    while day is not None and day < until:
        days, day = days + 1, cron.day_from(day + 1)
    return days * cron.times.bit_count()
