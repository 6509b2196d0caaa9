"""The coming fire times for people: in local time, with notes on what changes of the clocks do to them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from onthedot.core.clock import EPOCH, moment_of
from onthedot.schedules.choices import Gap, Overlap
from onthedot.schedules.cron import parse_cron
from onthedot.schedules.cron_zoned import missing_walls
from onthedot.schedules.schedule import CronSchedule, Schedule, next_fire, skipped_between
from onthedot.schedules.zones import zone

_NAMED: Final = 3
"""The most missing times that a note writes out."""
_SKIPS: Final = 10
"""The most skipped changes of the clocks that are looked for before one fire time."""


@dataclass(frozen=True, slots=True)
class FireTime:
    """A fire time as people read it."""

    at: int
    """The nominal instant."""
    local: str
    """The local time as RFC 3339 with its offset."""
    note: str | None = None
    """The effect of a change of the clocks, in words."""


def preview(schedule: Schedule, after: int, count: int) -> list[FireTime]:
    """Return the first `count` fire times strictly after this instant, or fewer when the schedule ends.

    Only real fire times are listed. A skipped time is named in the note of the fire time that follows it. No note
    is about the time before the schedule starts.
    """
    fires: list[FireTime] = []
    if schedule.start_at is not None:
        after = max(after, schedule.start_at - 1)
    while len(fires) < count and (at := next_fire(schedule, after)) is not None:
        fires.append(_fire_time(schedule, after, at))
        after = at
    return fires


def _fire_time(schedule: Schedule, previous: int, at: int) -> FireTime:
    rule = schedule.rule
    if not isinstance(rule, CronSchedule):
        return FireTime(at, _written(moment_of(at)))
    local = zone(rule.timezone).local(at)
    if parse_cron(rule.expression).every_hour:
        notes = [*_jump(rule, previous, at), *_repeats(local, both=True)]
    else:
        notes = [*_skips(schedule, rule, previous, at), *_late(rule, at, local)]
        notes += _repeats(local, both=rule.dst.overlap is Overlap.TWICE)
    return FireTime(at, _written(local), "; ".join(notes) or None)


def _skips(schedule: Schedule, rule: CronSchedule, previous: int, at: int) -> list[str]:
    """Name the times that were skipped since the previous fire time, or at this instant."""
    if rule.dst.gap is not Gap.SKIP:
        return []
    skipped = [_missing(rule, instant) for instant in [*skipped_between(schedule, previous, at, _SKIPS), at]]
    return [f"{_do_not_exist(walls)} on {_day(walls[0])}; skipped" for walls in skipped if walls]


def _late(rule: CronSchedule, at: int, local: datetime) -> list[str]:
    """Name the missing times for which the schedule fires at this instant."""
    if rule.dst.gap is Gap.SKIP or not (walls := _missing(rule, at)):
        return []
    day = "this day" if _day(walls[0]) == f"{local:%Y-%m-%d}" else _day(walls[0])
    return [f"{_do_not_exist(walls)} on {day}; {'runs' if len(walls) == 1 else 'run once,'} at {local:%H:%M}"]


def _jump(rule: CronSchedule, previous: int, at: int) -> list[str]:
    """Say that clocks jumped over times of the schedule since the previous fire time."""
    place = zone(rule.timezone)
    start = place.stretch(at).start
    if start <= previous or not _missing(rule, start):
        return []
    before, after = place.local(start - 1) + timedelta(milliseconds=1), place.local(start)
    return [f"clocks go forward from {before:%Y-%m-%d %H:%M} to {after:%Y-%m-%d %H:%M} before this"]


def _repeats(local: datetime, *, both: bool) -> list[str]:
    # The second time the datetime has fold=1, and a smaller offset from UTC.
    twin = local.replace(fold=1)
    if local.fold == 0 and (twin.utcoffset() or timedelta()) >= (local.utcoffset() or timedelta()):
        return []
    which = "second" if local.fold else "first" if both else "first, and the second does not run"
    return [f"{local:%H:%M} happens twice on this day; this is the {which}"]


def _missing(rule: CronSchedule, instant: int) -> list[int]:
    return missing_walls(parse_cron(rule.expression), zone(rule.timezone), instant)


def _do_not_exist(walls: list[int]) -> str:
    named = [f"{_moment(wall):%H:%M}" for wall in walls[:_NAMED]]
    if len(walls) == 1:
        return f"{named[0]} does not exist"
    last = f"{len(walls) - _NAMED} more" if len(walls) > _NAMED else named.pop()
    return f"{', '.join(named)} and {last} do not exist"


def _day(wall: int) -> str:
    return f"{_moment(wall):%Y-%m-%d}"


def _moment(wall: int) -> datetime:
    return EPOCH + timedelta(minutes=wall)


def _written(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds")
