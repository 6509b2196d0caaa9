"""The fields of a schedule as clients send and see them, and the `Recurrence` that they make or change."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from onthedot.core.errors import InvalidRequest, Problem
from onthedot.schedules import schedule as schedules
from onthedot.schedules.choices import DstPolicy, Misfire, OverlapPolicy
from onthedot.schedules.cron_zoned import DEFAULT_DST
from onthedot.schedules.local_times import LocalTime, instant_of
from onthedot.schedules.schedule import DEFAULT_MISFIRE, CronSchedule, EverySchedule, Recurrence, Schedule
from onthedot.schedules.spread import EXAMPLE_ID, has_h, plain_expression
from onthedot.schedules.zones import zone

RULE_FIELDS: Final = ("cron", "every")
CRON_FIELDS: Final = ("timezone", "dst")
ONLY_CRON: Final = "works only with cron; add cron or remove it"

Fields = Mapping[str, Any]
"""The fields that a client sent, by their names."""
Rule = CronSchedule | EverySchedule


def new_recurrence(fields: Fields, now: int) -> Recurrence | None:
    """Return None for a job that does not recur. Raise BadSchedule."""
    if not any(name in fields for name in RULE_FIELDS):
        return None
    return Recurrence(
        schedule=new_schedule(fields, now),
        misfire=_misfire(DEFAULT_MISFIRE, fields),
        overlap=fields.get("overlap", OverlapPolicy.ALLOW),
        max_runs=fields.get("max_runs"),
    )


def cron_with_h(fields: Fields) -> str | None:
    """Return the expression if it has an `H`, which is resolved again when the job has its id."""
    expression: str | None = fields.get("cron")
    return expression if expression is not None and has_h(expression) else None


def fire_instant(fields: Fields) -> int | None:
    # `timezone` and `dst` are refused together with an `at` with an offset, which they cannot change.
    at: int | LocalTime | None = fields.get("at")
    if isinstance(at, LocalTime):
        name = fields.get("timezone") or at.timezone
        if name is None:
            raise InvalidRequest(Problem("at", "has no offset from UTC; add Z or ±hh:mm to it, or give timezone"))
        return instant_of(at, zone(name), _dst(DEFAULT_DST, fields))
    if at is not None and (misplaced := [name for name in CRON_FIELDS if name in fields]):
        advice = "has no effect, because at has an offset or is in epoch seconds; remove it, or write at as local time"
        raise InvalidRequest(*(Problem(name, advice) for name in misplaced))
    return at


def new_schedule(fields: Fields, now: int) -> Schedule:
    """Resolve `H` as for an example. Raise BadSchedule."""
    rule: Rule
    if "every" in fields:
        rule = schedules.every(fields["every"], now, fields.get("start_at"))
    else:
        expression = plain_expression(fields["cron"], EXAMPLE_ID)
        rule = CronSchedule(expression, fields.get("timezone", schedules.UTC_NAME), _dst(DEFAULT_DST, fields))
    return Schedule(rule, fields.get("start_at"), fields.get("end_at"), fields.get("jitter_seconds", 0))


def changed_recurrence(present: Recurrence, fields: Fields, job_id: str, now: int) -> Recurrence:
    """Raise BadSchedule, and InvalidRequest for fields that do not go with the rule."""
    return Recurrence(
        schedule=_changed_schedule(present.schedule, fields, job_id, now),
        misfire=_misfire(present.misfire, fields),
        overlap=fields.get("overlap", present.overlap),
        max_runs=fields.get("max_runs", present.max_runs),
    )


def _changed_schedule(present: Schedule, fields: Fields, job_id: str, now: int) -> Schedule:
    start_at = fields.get("start_at", present.start_at)
    expression = plain_expression(fields["cron"], job_id) if "cron" in fields else None
    rule = _changed_rule(present, start_at, expression, fields, now)
    return Schedule(
        rule, start_at, fields.get("end_at", present.end_at), fields.get("jitter_seconds", present.jitter_seconds)
    )


def _changed_rule(present: Schedule, start_at: int | None, expression: str | None, fields: Fields, now: int) -> Rule:
    rule = CronSchedule(expression) if expression and isinstance(present.rule, EverySchedule) else present.rule
    if isinstance(rule, CronSchedule) and "every" not in fields:
        timezone = fields.get("timezone", rule.timezone)
        return CronSchedule(expression or rule.expression, timezone, _dst(rule.dst, fields))
    if misplaced := [name for name in CRON_FIELDS if name in fields]:
        raise InvalidRequest(*(Problem(name, ONLY_CRON) for name in misplaced))
    if "every" in fields:
        return schedules.every(fields["every"], now, start_at)
    if isinstance(rule, EverySchedule) and _starts_anew(present.start_at, start_at, now):
        return schedules.every(rule.seconds, now, start_at)
    return rule


def _starts_anew(before: int | None, after: int | None, now: int) -> bool:
    # An interval counts from `start_at`: from a new one, or from now when one in the future is removed.
    return before != after and (after is not None or (before or 0) > now)


def _dst(present: DstPolicy, fields: Fields) -> DstPolicy:
    return replace(present, **fields.get("dst", {}))


def _misfire(present: Misfire, fields: Fields) -> Misfire:
    return replace(present, **fields.get("misfire", {}))


def told(recurrence: Recurrence) -> dict[str, Any]:
    schedule = recurrence.schedule
    return {
        **_rule(schedule.rule),
        "start_at": schedule.start_at,
        "end_at": schedule.end_at,
        "max_runs": recurrence.max_runs,
        "jitter_seconds": schedule.jitter_seconds,
        "misfire": recurrence.misfire,
        "overlap": recurrence.overlap,
    }


def _rule(rule: Rule) -> dict[str, Any]:
    if isinstance(rule, EverySchedule):
        return {"every": rule.seconds}
    return {"cron": rule.expression, "timezone": rule.timezone, "dst": rule.dst}
