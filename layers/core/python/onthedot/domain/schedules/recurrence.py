"""The recurrence of a job: its schedule, and the policies for fire times that are missed or that overlap."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from onthedot.domain.schedules import schedule as schedules
from onthedot.domain.schedules.choices import Misfire as Misfire  # noqa: PLC0414 - also from here
from onthedot.domain.schedules.choices import MisfirePolicy as MisfirePolicy  # noqa: PLC0414 - also from here
from onthedot.domain.schedules.choices import OverlapPolicy as OverlapPolicy  # noqa: PLC0414 - also from here
from onthedot.domain.schedules.schedule import CronSchedule, Schedule

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
    """Return the recurrence with another cron expression. Raise BadCron."""
    schedule = recurrence.schedule
    if not isinstance(schedule.rule, CronSchedule):
        return recurrence
    rule = replace(schedule.rule, expression=expression)
    return replace(recurrence, schedule=replace(schedule, rule=rule))


def to_json(recurrence: Recurrence) -> dict[str, Any]:
    """Return the recurrence as JSON values, without defaults so that it stays small."""
    record = schedules.to_json(recurrence.schedule)
    if recurrence.misfire != DEFAULT_MISFIRE:
        record["misfire"] = [recurrence.misfire.policy, recurrence.misfire.grace_seconds]
    if recurrence.overlap is not OverlapPolicy.ALLOW:
        record["overlap"] = recurrence.overlap
    if recurrence.max_runs is not None:
        record["max_runs"] = recurrence.max_runs
    return record


def from_json(record: Mapping[str, Any]) -> Recurrence:
    """Return the recurrence that `to_json` wrote."""
    policy, grace = record.get("misfire", (DEFAULT_MISFIRE.policy, DEFAULT_MISFIRE.grace_seconds))
    return Recurrence(
        schedules.from_json(record),
        Misfire(MisfirePolicy(policy), grace),
        OverlapPolicy(record.get("overlap", OverlapPolicy.ALLOW)),
        record.get("max_runs"),
    )
