"""Schedules and recurrences: the fire times of a rule within its window."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from onthedot.core.errors import InvalidRequest, Problem
from onthedot.schedules.choices import (
    DAY_MS,
    MAX_AHEAD_MS,
    MAX_JITTER_SECONDS,
    DstPolicy,
    Gap,
    Misfire,
    MisfirePolicy,
    Overlap,
    OverlapPolicy,
)
from onthedot.schedules.cron import parse_cron
from onthedot.schedules.cron_fields import SEARCH_YEARS, CronOfYears
from onthedot.schedules.cron_zoned import DEFAULT_DST, next_instant
from onthedot.schedules.errors import BadSchedule
from onthedot.schedules.zones import zone

UTC_NAME: Final = "UTC"


@dataclass(frozen=True, slots=True)
class CronSchedule:
    """A rule that fires when clocks in the zone show a time. Raise BadCron or BadTimezone when it is built."""

    expression: str
    timezone: str = UTC_NAME
    dst: DstPolicy = DEFAULT_DST

    def __post_init__(self) -> None:
        parse_cron(self.expression)
        zone(self.timezone)

    def next_after(self, after: int) -> int | None:
        return next_instant(parse_cron(self.expression), zone(self.timezone), self.dst, after)


@dataclass(frozen=True, slots=True)
class EverySchedule:
    """A rule that fires at `anchor_ms` and after each interval of this many seconds, in elapsed time."""

    seconds: int
    anchor_ms: int

    def __post_init__(self) -> None:
        if self.seconds < 1:
            raise BadSchedule("every", "is too small; give 1 or more seconds")

    def next_after(self, after: int) -> int | None:
        if after < self.anchor_ms:
            return self.anchor_ms
        period = self.seconds * 1000
        return after + period - (after - self.anchor_ms) % period


@dataclass(frozen=True, slots=True)
class Schedule:
    """A rule within limits. It fires only if `start_at <= time <= end_at`."""

    rule: CronSchedule | EverySchedule
    start_at: int | None = None
    end_at: int | None = None
    jitter_seconds: int = 0
    """Each run starts up to this many seconds after its nominal time."""

    def __post_init__(self) -> None:
        if self.start_at is not None and self.end_at is not None and self.end_at < self.start_at:
            raise BadSchedule("end_at", "is before start_at; give a later time")
        if not 0 <= self.jitter_seconds <= MAX_JITTER_SECONDS:
            raise BadSchedule("jitter_seconds", f"is out of range; give 0 to {MAX_JITTER_SECONDS}")


def every(seconds: int, created_at: int, start_at: int | None = None) -> EverySchedule:
    """Fire first at `start_at`, or else an interval from now."""
    return EverySchedule(seconds, created_at + seconds * 1000 if start_at is None else start_at)


def next_fire(schedule: Schedule, after: int) -> int | None:
    """Return the first fire time strictly after this instant."""
    if schedule.start_at is not None:
        after = max(after, schedule.start_at - 1)
    at = schedule.rule.next_after(after)
    return None if at is None or (schedule.end_at is not None and at > schedule.end_at) else at


def fires_between(schedule: Schedule, after: int, until: int, limit: int) -> list[int]:
    """Return the first `limit` fire times with `after < time < until`, in order."""
    fires: list[int] = []
    while len(fires) < limit and (at := next_fire(schedule, after)) is not None and at < until:
        fires.append(at)
        after = at
    return fires


def contains(schedule: Schedule, nominal: int) -> bool:
    return next_fire(schedule, nominal - 1) == nominal


def skipped_between(schedule: Schedule, after: int, until: int, limit: int) -> list[int]:
    """Return times that clocks jump over and that are skipped. The work depends on the changes of the clocks alone."""
    rule = schedule.rule
    if not isinstance(rule, CronSchedule) or rule.dst.gap is not Gap.SKIP:
        return []
    with_gaps = replace(schedule, rule=replace(rule, dst=replace(rule.dst, gap=Gap.RUN_AFTER)))
    place = zone(rule.timezone)
    skipped: list[int] = []
    change = place.stretch(max(after, 0)).end
    while change < until and len(skipped) < limit:
        if contains(with_gaps, change) and not contains(schedule, change):
            skipped.append(change)
        change = place.stretch(change).end
    return skipped


def jittered(job_id: str, nominal: int, jitter_seconds: int) -> int:
    """Return the nominal time with its jitter, which is always the same for a job and a time."""
    if jitter_seconds <= 0:
        return nominal
    digest = hashlib.blake2b(f"{job_id}@{nominal}".encode(), digest_size=8).digest()
    return nominal + int.from_bytes(digest, "big") % (jitter_seconds * 1000)


def schedule_to_json(schedule: Schedule) -> dict[str, Any]:
    rule = schedule.rule
    if isinstance(rule, EverySchedule):
        record: dict[str, Any] = {"every": rule.seconds, "anchor": rule.anchor_ms}
    else:
        dst = {"gap": rule.dst.gap.value, "overlap": rule.dst.overlap.value}
        default = {"gap": DEFAULT_DST.gap, "overlap": DEFAULT_DST.overlap}
        record = {
            "cron": rule.expression,
            "timezone": rule.timezone if rule.timezone != UTC_NAME else None,
            "dst": {key: value for key, value in dst.items() if value != default[key]} or None,
        }
    record |= {"start_at": schedule.start_at, "end_at": schedule.end_at}
    record["jitter_seconds"] = schedule.jitter_seconds or None
    return {key: value for key, value in record.items() if value is not None}


def schedule_from_json(record: Mapping[str, Any]) -> Schedule:
    """Numbers may come back as any integral type."""
    rule: CronSchedule | EverySchedule
    if "every" in record:
        rule = EverySchedule(int(record["every"]), int(record["anchor"]))
    else:
        dst = record.get("dst", {})
        policy = DstPolicy(Gap(dst.get("gap", Gap.RUN_AFTER)), Overlap(dst.get("overlap", Overlap.ONCE)))
        rule = CronSchedule(record["cron"], record.get("timezone", UTC_NAME), policy)
    return Schedule(
        rule, _integer(record, "start_at"), _integer(record, "end_at"), int(record.get("jitter_seconds", 0))
    )


def _integer(record: Mapping[str, Any], key: str) -> int | None:
    return int(record[key]) if key in record else None


DEFAULT_MISFIRE = Misfire()


@dataclass(frozen=True, slots=True)
class Recurrence:
    """The schedule and the policies of a recurring job."""

    schedule: Schedule
    misfire: Misfire = DEFAULT_MISFIRE
    overlap: OverlapPolicy = OverlapPolicy.ALLOW
    max_runs: int | None = None
    """The number of runs after which the job ends. None: there is no such limit."""


def with_expression(recurrence: Recurrence, expression: str) -> Recurrence:
    schedule = recurrence.schedule
    if not isinstance(schedule.rule, CronSchedule):
        return recurrence
    rule = replace(schedule.rule, expression=expression)
    return replace(recurrence, schedule=replace(schedule, rule=rule))


def recurrence_to_json(recurrence: Recurrence) -> dict[str, Any]:
    """Defaults are left out, so that it stays small."""
    record = schedule_to_json(recurrence.schedule)
    if recurrence.misfire != DEFAULT_MISFIRE:
        record["misfire"] = [recurrence.misfire.policy, recurrence.misfire.grace_seconds]
    if recurrence.overlap is not OverlapPolicy.ALLOW:
        record["overlap"] = recurrence.overlap
    if recurrence.max_runs is not None:
        record["max_runs"] = recurrence.max_runs
    return record


def recurrence_from_json(record: Mapping[str, Any]) -> Recurrence:
    policy, grace = record.get("misfire", (DEFAULT_MISFIRE.policy, DEFAULT_MISFIRE.grace_seconds))
    return Recurrence(
        schedule_from_json(record),
        Misfire(MisfirePolicy(policy), grace),
        OverlapPolicy(record.get("overlap", OverlapPolicy.ALLOW)),
        record.get("max_runs"),
    )


MAX_PAST_MS: Final = DAY_MS
_2001: Final = 978_307_200_000
_2100: Final = 4_102_444_800_000


def fire_time_problems(field: str, instant: int | None, now: int) -> list[Problem]:
    """Return the reason why a job cannot be scheduled at the instant in this field, if there is one.

    A time up to one day in the past is accepted and fires at once, because clocks differ and requests wait in retries.
    An older time is a mistake. None: the field was left out.
    """
    if instant is not None and instant > now + MAX_AHEAD_MS:
        return [Problem(field, f"is more than 10 years ahead; give an earlier time{milliseconds_hint(instant)}")]
    if instant is not None and instant < now - MAX_PAST_MS:
        return [Problem(field, "is more than a day in the past; give a later time, or leave it out to run now")]
    return []


def milliseconds_hint(instant: int) -> str:
    """Return advice for a time that lies in this century only when it is read as milliseconds."""
    return "; epoch times are in seconds, not milliseconds" if _2001 <= instant // 1000 < _2100 else ""


def check_start(schedule: Schedule, now: int) -> None:
    if schedule.start_at is not None and schedule.start_at > now + MAX_AHEAD_MS:
        raise InvalidRequest(Problem("start_at", "is more than 10 years ahead; give an earlier time"))


def no_fire_problem(schedule: Schedule, now: int) -> Problem:
    """Return the reason why a schedule has no fire time after now, with the field to change."""
    if schedule.end_at is not None and next_fire(replace(schedule, end_at=None), now) is not None:
        return Problem("end_at", "leaves no fire time; give a later one")
    cron = parse_cron(schedule.rule.expression) if isinstance(schedule.rule, CronSchedule) else None
    if isinstance(cron, CronOfYears):
        trouble = f"has no fire time in the next {SEARCH_YEARS} years: its last year is {cron.last_year}"
        return Problem("cron", f"{trouble}; give other years, or *")
    return Problem("cron", "never fires: clocks jump over each of its times; give another hour, or dst.gap run_after")
