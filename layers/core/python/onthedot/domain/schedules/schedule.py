"""When a recurring job fires: a rule, its limits, and everything that is asked of them.

Fire times are *nominal*: jitter comes on top, by `jittered`. Every function is pure and agrees with the others: what
`next_fire` returns is strictly after what it was asked for, `fires_between` is `next_fire` repeated, and `contains` is
true of just those times.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from onthedot.domain.schedules.cron import parse_cron
from onthedot.domain.schedules.cron_zoned import DEFAULT_DST, DstPolicy, Gap, Overlap, next_instant
from onthedot.domain.schedules.errors import BadCron, BadSchedule, BadTimezone
from onthedot.domain.schedules.zones import zone

__all__ = [
    "BadCron",
    "BadSchedule",
    "BadTimezone",
    "CronSchedule",
    "DstPolicy",
    "EverySchedule",
    "Gap",
    "Overlap",
    "Schedule",
    "contains",
    "every",
    "fires_between",
    "from_json",
    "jittered",
    "next_fire",
    "skipped_between",
    "to_json",
]

MAX_JITTER_SECONDS: Final = 900
UTC_NAME: Final = "UTC"


@dataclass(frozen=True, slots=True)
class CronSchedule:
    """Fires when clocks in the zone show a time of the expression. Raises BadCron or BadTimezone when built."""

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
    """Fires at `anchor_ms` and every so many seconds after it, in elapsed time."""

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
    """A rule within its limits: `start_at <= fire <= end_at`, both included."""

    rule: CronSchedule | EverySchedule
    start_at: int | None = None
    end_at: int | None = None
    jitter_seconds: int = 0

    def __post_init__(self) -> None:
        if self.start_at is not None and self.end_at is not None and self.end_at < self.start_at:
            raise BadSchedule("end_at", "is before start_at; give a later time")
        if not 0 <= self.jitter_seconds <= MAX_JITTER_SECONDS:
            raise BadSchedule("jitter_seconds", f"is out of range; give 0 to {MAX_JITTER_SECONDS}")


def every(seconds: int, created_at: int, start_at: int | None = None) -> EverySchedule:
    """The rule of a job created now: its first fire is `start_at` or, without one, an interval from now."""
    return EverySchedule(seconds, created_at + seconds * 1000 if start_at is None else start_at)


def next_fire(schedule: Schedule, after: int) -> int | None:
    """The first fire time strictly after this instant; None when there is none left."""
    if schedule.start_at is not None:
        after = max(after, schedule.start_at - 1)
    at = schedule.rule.next_after(after)
    return None if at is None or (schedule.end_at is not None and at > schedule.end_at) else at


def fires_between(schedule: Schedule, after: int, until: int, limit: int) -> list[int]:
    """The fire times with `after < time < until`, in order; the first `limit` of them."""
    fires: list[int] = []
    while len(fires) < limit and (at := next_fire(schedule, after)) is not None and at < until:
        fires.append(at)
        after = at
    return fires


def contains(schedule: Schedule, nominal: int) -> bool:
    """Whether this is one of its fire times."""
    return next_fire(schedule, nominal - 1) == nominal


def skipped_between(schedule: Schedule, after: int, until: int, limit: int) -> list[int]:
    """When the schedule would have fired, had it not been told to skip times that clocks jump over; bounds as above.

    Looks at no more than `limit` fires, run or skipped: ask again from the last one for more.
    """
    rule = schedule.rule
    if not isinstance(rule, CronSchedule) or rule.dst.gap is not Gap.SKIP:
        return []
    patient = replace(schedule, rule=replace(rule, dst=replace(rule.dst, gap=Gap.RUN_AFTER)))
    return [at for at in fires_between(patient, after, until, limit) if not contains(schedule, at)]


def jittered(job_id: str, nominal: int, jitter_seconds: int) -> int:
    """When this fire of this job really starts: always the same, 0 to `jitter_seconds` after its nominal time."""
    if jitter_seconds <= 0:
        return nominal
    digest = hashlib.blake2b(f"{job_id}@{nominal}".encode(), digest_size=8).digest()
    return nominal + int.from_bytes(digest, "big") % (jitter_seconds * 1000)


def to_json(schedule: Schedule) -> dict[str, Any]:
    """The schedule as a record of each job: small, defaults left out."""
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


def from_json(record: Mapping[str, Any]) -> Schedule:
    """The schedule that `to_json` wrote down; numbers may come back as any integral type."""
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
