"""How a recurring job recurs: its schedule, and what becomes of fire times that were missed or that overlap."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from onthedot.domain.schedules import schedule as schedules
from onthedot.domain.schedules.schedule import Schedule


class MisfirePolicy(StrEnum):
    """What becomes of fire times missed by more than the grace."""

    RUN_LATEST = "run_latest"
    RUN_ALL = "run_all"
    SKIP = "skip"


class OverlapPolicy(StrEnum):
    """What a run does while the job's previous run has not ended."""

    ALLOW = "allow"
    SKIP = "skip"
    QUEUE = "queue"


@dataclass(frozen=True, slots=True)
class Misfire:
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


def to_json(recurrence: Recurrence) -> dict[str, Any]:
    """Small: defaults are left out."""
    record = schedules.to_json(recurrence.schedule)
    if recurrence.misfire != DEFAULT_MISFIRE:
        record["misfire"] = [recurrence.misfire.policy, recurrence.misfire.grace_seconds]
    if recurrence.overlap is not OverlapPolicy.ALLOW:
        record["overlap"] = recurrence.overlap
    if recurrence.max_runs is not None:
        record["max_runs"] = recurrence.max_runs
    return record


def from_json(record: Mapping[str, Any]) -> Recurrence:
    policy, grace = record.get("misfire", (DEFAULT_MISFIRE.policy, DEFAULT_MISFIRE.grace_seconds))
    return Recurrence(
        schedules.from_json(record),
        Misfire(MisfirePolicy(policy), grace),
        OverlapPolicy(record.get("overlap", OverlapPolicy.ALLOW)),
        record.get("max_runs"),
    )
