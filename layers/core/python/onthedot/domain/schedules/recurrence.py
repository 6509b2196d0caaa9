"""The recurrence of a job: its schedule, and the policies for fire times that are missed or that overlap."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from onthedot.domain.schedules import schedule as schedules
from onthedot.domain.schedules.schedule import CronSchedule, Schedule


class MisfirePolicy(StrEnum):
    """The rule for fire times that were missed by more than the grace."""

    RUN_LATEST = "run_latest"
    """Run the latest of them and skip the others."""
    RUN_ALL = "run_all"
    """Run all of them."""
    SKIP = "skip"
    """Skip all of them."""


class OverlapPolicy(StrEnum):
    """The rule for a run whose job's previous run has not ended."""

    ALLOW = "allow"
    """Run both side by side."""
    SKIP = "skip"
    """Skip the new run."""
    QUEUE = "queue"
    """Let the new run wait for the end of the previous one."""


@dataclass(frozen=True, slots=True)
class Misfire:
    """The misfire policy and its grace."""

    policy: MisfirePolicy = MisfirePolicy.RUN_LATEST
    grace_seconds: int = 60


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
