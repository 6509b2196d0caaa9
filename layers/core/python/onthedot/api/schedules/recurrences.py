"""Turn the fields of a schedule into a `Recurrence`: a new one, or a changed copy of the present one."""

from onthedot.api.schedules.fields import CRON_FIELDS, DstFields, MisfireFields, RecurrenceFields, ScheduleFields
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.schedules import schedule as schedules
from onthedot.domain.schedules.cron_zoned import DEFAULT_DST
from onthedot.domain.schedules.recurrence import DEFAULT_MISFIRE, Misfire, MisfirePolicy, OverlapPolicy, Recurrence
from onthedot.domain.schedules.schedule import CronSchedule, DstPolicy, EverySchedule, Gap, Overlap, Schedule

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


def new_schedule(fields: ScheduleFields, now: int) -> Schedule:
    """Return the schedule in fields that have `cron` or `every`. Raise BadSchedule."""
    rule: Rule
    if fields.every is not None:
        rule = schedules.every(fields.every, now, fields.start_at)
    else:
        rule = CronSchedule(fields.cron or "", fields.timezone or schedules.UTC_NAME, _dst(DEFAULT_DST, fields.dst))
    return Schedule(rule, fields.start_at, fields.end_at, fields.jitter_seconds or 0)


def changed_recurrence(present: Recurrence, fields: RecurrenceFields, now: int) -> Recurrence:
    """Return the present recurrence with the fields that were sent changed.

    Raise BadSchedule, and InvalidRequest for fields that do not go with the rule.
    """
    names = fields.model_fields_set
    return Recurrence(
        schedule=_changed_schedule(present.schedule, fields, now),
        misfire=_misfire(present.misfire, fields.misfire),
        overlap=present.overlap if fields.overlap is None else OverlapPolicy(fields.overlap),
        max_runs=fields.max_runs if "max_runs" in names else present.max_runs,
    )


def _changed_schedule(present: Schedule, fields: RecurrenceFields, now: int) -> Schedule:
    names = fields.model_fields_set
    start_at = fields.start_at if "start_at" in names else present.start_at
    end_at = fields.end_at if "end_at" in names else present.end_at
    jitter = present.jitter_seconds if fields.jitter_seconds is None else fields.jitter_seconds
    return Schedule(_changed_rule(present, start_at, fields, now), start_at, end_at, jitter)


def _changed_rule(present: Schedule, start_at: int | None, fields: RecurrenceFields, now: int) -> Rule:
    rule = CronSchedule(fields.cron) if fields.cron and isinstance(present.rule, EverySchedule) else present.rule
    if isinstance(rule, CronSchedule) and fields.every is None:
        zone = fields.timezone or rule.timezone
        return CronSchedule(fields.cron or rule.expression, zone, _dst(rule.dst, fields.dst))
    misplaced = [name for name in CRON_FIELDS if name in fields.model_fields_set]
    if misplaced:
        raise InvalidRequest(*(Problem(name, "works only with cron; add cron or remove it") for name in misplaced))
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
