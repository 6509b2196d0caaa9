"""Turn the fields of a schedule into a `Recurrence`: a new one, or a changed copy of the present one."""

from onthedot.api.schedules.fields import (
    CRON_FIELDS,
    ONLY_CRON,
    DstFields,
    MisfireFields,
    RecurrenceFields,
    ScheduleFields,
)
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.schedules import schedule as schedules
from onthedot.domain.schedules.cron_zoned import DEFAULT_DST
from onthedot.domain.schedules.local_times import LocalTime, instant_of
from onthedot.domain.schedules.recurrence import DEFAULT_MISFIRE, Misfire, MisfirePolicy, OverlapPolicy, Recurrence
from onthedot.domain.schedules.schedule import CronSchedule, DstPolicy, EverySchedule, Gap, Overlap, Schedule
from onthedot.domain.schedules.spread import EXAMPLE_ID, has_h, plain_expression
from onthedot.domain.schedules.zones import zone

Rule = CronSchedule | EverySchedule


def new_recurrence(fields: RecurrenceFields, now: int) -> Recurrence | None:
    """Return the recurrence in the fields, or None for a job that does not recur. Raise BadSchedule."""
    if fields.cron is None and fields.every is None:
        return None
    return Recurrence(
        schedule=new_schedule(fields, now),
        misfire=_misfire(DEFAULT_MISFIRE, fields.misfire),
        overlap=OverlapPolicy(fields.overlap or OverlapPolicy.ALLOW),
        max_runs=fields.max_runs,
    )


def cron_with_h(fields: ScheduleFields) -> str | None:
    """Return the cron expression if it has an `H`, which is resolved anew when the job has its id."""
    return fields.cron if fields.cron is not None and has_h(fields.cron) else None


def fire_instant(at: int | LocalTime | None, fields: ScheduleFields) -> int | None:
    """Return the instant of `at`, by `timezone` and `dst` if it is a local time. Raise InvalidRequest.

    `timezone` and `dst` are refused beside an `at` with an offset, which they cannot change.
    """
    if isinstance(at, LocalTime):
        name = fields.timezone or at.timezone
        if name is None:
            raise InvalidRequest(Problem("at", "has no offset from UTC; add Z or ±hh:mm to it, or give timezone"))
        return instant_of(at, zone(name), _dst(DEFAULT_DST, fields.dst))
    if at is not None and (misplaced := [name for name in CRON_FIELDS if getattr(fields, name) is not None]):
        advice = "has no effect, because at has an offset or is in epoch seconds; remove it, or write at as local time"
        raise InvalidRequest(*(Problem(name, advice) for name in misplaced))
    return at


def new_schedule(fields: ScheduleFields, now: int) -> Schedule:
    """Return the schedule in fields that have `cron` or `every`, with `H` as for an example. Raise BadSchedule."""
    rule: Rule
    if fields.every is not None:
        rule = schedules.every(fields.every, now, fields.start_at)
    else:
        expression = plain_expression(fields.cron or "", EXAMPLE_ID)
        rule = CronSchedule(expression, fields.timezone or schedules.UTC_NAME, _dst(DEFAULT_DST, fields.dst))
    return Schedule(rule, fields.start_at, fields.end_at, fields.jitter_seconds or 0)


def changed_recurrence(present: Recurrence, fields: RecurrenceFields, job_id: str, now: int) -> Recurrence:
    """Return the present recurrence of a job with the fields that were sent changed.

    Raise BadSchedule, and InvalidRequest for fields that do not go with the rule.
    """
    names = fields.model_fields_set
    return Recurrence(
        schedule=_changed_schedule(present.schedule, fields, job_id, now),
        misfire=_misfire(present.misfire, fields.misfire),
        overlap=present.overlap if fields.overlap is None else OverlapPolicy(fields.overlap),
        max_runs=fields.max_runs if "max_runs" in names else present.max_runs,
    )


def _changed_schedule(present: Schedule, fields: RecurrenceFields, job_id: str, now: int) -> Schedule:
    names = fields.model_fields_set
    start_at = fields.start_at if "start_at" in names else present.start_at
    end_at = fields.end_at if "end_at" in names else present.end_at
    jitter = present.jitter_seconds if fields.jitter_seconds is None else fields.jitter_seconds
    expression = None if fields.cron is None else plain_expression(fields.cron, job_id)
    return Schedule(_changed_rule(present, start_at, expression, fields, now), start_at, end_at, jitter)


def _changed_rule(
    present: Schedule, start_at: int | None, expression: str | None, fields: RecurrenceFields, now: int
) -> Rule:
    rule = CronSchedule(expression) if expression and isinstance(present.rule, EverySchedule) else present.rule
    if isinstance(rule, CronSchedule) and fields.every is None:
        timezone = fields.timezone or rule.timezone
        return CronSchedule(expression or rule.expression, timezone, _dst(rule.dst, fields.dst))
    misplaced = [name for name in CRON_FIELDS if name in fields.model_fields_set]
    if misplaced:
        raise InvalidRequest(*(Problem(name, ONLY_CRON) for name in misplaced))
    if fields.every is not None:
        return schedules.every(fields.every, now, start_at)
    if isinstance(rule, EverySchedule) and _starts_anew(present.start_at, start_at, now):
        return schedules.every(rule.seconds, now, start_at)
    return rule


def _starts_anew(before: int | None, after: int | None, now: int) -> bool:
    """Return whether an interval must count from a new instant. An interval counts from `start_at`.

    So it begins anew when the client sends a new `start_at`, or removes one that is still in the future.
    """
    return before != after and (after is not None or (before or 0) > now)


def _dst(present: DstPolicy, fields: DstFields | None) -> DstPolicy:
    changed = {} if fields is None else fields.model_dump(exclude_unset=True)
    return DstPolicy(Gap(changed.get("gap", present.gap)), Overlap(changed.get("overlap", present.overlap)))


def _misfire(present: Misfire, fields: MisfireFields | None) -> Misfire:
    changed = {} if fields is None else fields.model_dump(exclude_unset=True)
    policy = MisfirePolicy(changed.get("policy", present.policy))
    return Misfire(policy, changed.get("grace_seconds", present.grace_seconds))
