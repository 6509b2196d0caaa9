"""The coming fire times for people: local time, and in words what a change of the clocks does to them."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from onthedot.domain.schedules.cron import parse_cron
from onthedot.domain.schedules.cron_zoned import Gap, Overlap, missing_walls
from onthedot.domain.schedules.schedule import CronSchedule, Schedule, next_fire, skipped_between
from onthedot.domain.schedules.zones import zone

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NAMED: Final = 3
"""So many missing times are written out."""
_SKIPS: Final = 10
"""So many skipped changes of the clocks are looked for before one fire."""


@dataclass(frozen=True, slots=True)
class FireTime:
    """One fire: the nominal instant, local time as RFC 3339 with its offset, and what is special about it."""

    at: int
    local: str
    note: str | None = None


def preview(schedule: Schedule, after: int, count: int) -> list[FireTime]:
    """The first `count` fires strictly after this instant; fewer when the schedule ends.

    Only real fires are listed: what is skipped stands in the note of the fire that follows it.
    """
    fires: list[FireTime] = []
    while len(fires) < count and (at := next_fire(schedule, after)) is not None:
        fires.append(_fire_time(schedule, after, at))
        after = at
    return fires


def _fire_time(schedule: Schedule, previous: int, at: int) -> FireTime:
    rule = schedule.rule
    if not isinstance(rule, CronSchedule):
        return FireTime(at, _written(_EPOCH + timedelta(milliseconds=at)))
    local = zone(rule.timezone).local(at)
    if parse_cron(rule.expression).every_hour:
        notes = [*_jump(rule, previous, at), *_repeats(local, both=True)]
    else:
        notes = [*_skips(schedule, rule, previous, at), *_late(rule, at, local)]
        notes += _repeats(local, both=rule.dst.overlap is Overlap.TWICE)
    return FireTime(at, _written(local), "; ".join(notes) or None)


def _skips(schedule: Schedule, rule: CronSchedule, previous: int, at: int) -> list[str]:
    """The times that were left out since the previous fire, or at this very instant."""
    if rule.dst.gap is not Gap.SKIP:
        return []
    skipped = [_missing(rule, instant) for instant in [*skipped_between(schedule, previous, at, _SKIPS), at]]
    return [f"{_do_not_exist(walls)} on {_day(walls[0])}; skipped" for walls in skipped if walls]


def _late(rule: CronSchedule, at: int, local: datetime) -> list[str]:
    """The missing times that this fire stands for."""
    if rule.dst.gap is Gap.SKIP or not (walls := _missing(rule, at)):
        return []
    day = "this day" if _day(walls[0]) == f"{local:%Y-%m-%d}" else _day(walls[0])
    return [f"{_do_not_exist(walls)} on {day}; {'runs' if len(walls) == 1 else 'run once,'} at {local:%H:%M}"]


def _jump(rule: CronSchedule, previous: int, at: int) -> list[str]:
    """That clocks jumped over times of the schedule since the previous fire."""
    place = zone(rule.timezone)
    start = place.stretch(at).start
    if start <= previous or not _missing(rule, start):
        return []
    before, after = place.local(start - 1) + timedelta(milliseconds=1), place.local(start)
    return [f"clocks go forward from {before:%Y-%m-%d %H:%M} to {after:%Y-%m-%d %H:%M} before this"]


def _repeats(local: datetime, *, both: bool) -> list[str]:
    """That clocks show this time twice: the second time a datetime has fold=1, and less is added to UTC."""
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
    return _EPOCH + timedelta(minutes=wall)


def _written(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds" if moment.microsecond else "seconds")
