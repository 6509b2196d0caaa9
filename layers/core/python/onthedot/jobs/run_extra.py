"""Make runs that are not in the schedule: one now, or one for each fire time of a past window."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from onthedot.core import patience
from onthedot.core.choices import Priority
from onthedot.core.errors import InvalidRequest, JobConflict, Problem
from onthedot.core.ids import extra_run_id, fresh_generation, stamped_run_id
from onthedot.core.outcomes import is_record_written
from onthedot.core.ports import Deadline, Undecided
from onthedot.core.records import Kind, Record, Status
from onthedot.core.send import send_runs
from onthedot.core.stamping import new_run
from onthedot.engine import Engine
from onthedot.events.payloads import given_payload
from onthedot.jobs.list_runs import read_job
from onthedot.schedules.schedule import fires_between
from onthedot.targets.types import WorkflowTarget

MOST_BACKFILLED: Final = 1_000
MOST_COUNTED: Final = 50_000
BACKFILL_PACE_MS: Final = 200
"""Milliseconds between two backfilled runs: five a second, on top of the runs that are due now."""
_STOPPED: Final = (Status.CANCELLED, Status.DELETED, Status.PAUSED)


@dataclass(frozen=True, slots=True)
class Backfilled:
    """The result of a backfill."""

    created: Sequence[Record]
    existing: int
    """Fire times that had a run already."""
    left: int
    """Fire times of the window that have no run yet: beyond the limit, or not stored in time."""
    next_from: int | None = None
    """The first of the fire times that are left."""


@dataclass(frozen=True, slots=True)
class OwnPayload:
    """A payload for one run, which replaces that of the job. It may be None, which is JSON's null."""

    value: Any


def run_now(
    engine: Engine, tenant: str, job_id: str, trace: str | None = None, payload: OwnPayload | None = None
) -> Record:
    """Raise JobNotFound, JobConflict for a job that is stopped, or InvalidRequest for a workflow with a payload."""
    job = read_job(engine, tenant, job_id)
    refuse_stopped(job, "run")
    if payload is not None and job.definition is not None and isinstance(job.definition.target, WorkflowTarget):
        raise InvalidRequest(Problem("payload", "is not for a workflow, whose jobs have their own; leave it out"))
    now = engine.clock.now()
    run_id = extra_run_id(job_id, now, f"manual-{fresh_generation()}")
    run = new_run(job, run_id, now, now, now=now, deployment=engine.deployment, trigger="manual", trace=trace)
    if payload is not None:
        run = given_payload(engine.blobs, run, payload.value)
    engine.store.create(run)
    send_runs(engine, [run], Deadline.after(now, patience.REQUEST_MS))
    return run


def backfill(
    engine: Engine, tenant: str, job_id: str, *, after: int, until: int, limit: int, priority: Priority
) -> Backfilled:
    """Store paced runs for times with `after <= time < until`. Raise JobNotFound, JobConflict or InvalidRequest."""
    job = read_job(engine, tenant, job_id)
    refuse_stopped(job, "backfill")
    now = engine.clock.now()
    if job.kind is not Kind.RECURRING or job.recurrence is None:
        raise JobConflict("only a recurring job has fire times to backfill")
    if not after < until <= now:
        raise InvalidRequest(Problem("to", "give a window in the past: from < to <= now"))
    times = fires_between(job.recurrence.schedule, after - 1, until, MOST_COUNTED)
    chosen = times[: min(limit, MOST_BACKFILLED)]
    paced = replace(job, priority=priority)
    runs = [
        new_run(
            paced,
            stamped_run_id(job_id, nominal),
            nominal,
            now + number * BACKFILL_PACE_MS,
            now=now,
            deployment=engine.deployment,
            trigger="backfill",
        )
        for number, nominal in enumerate(chosen)
    ]
    deadline = Deadline.after(now, patience.REQUEST_MS)
    outcomes = engine.store.create_many(runs, deadline) if runs else []
    created = [run for run, outcome in zip(runs, outcomes, strict=True) if is_record_written(run, outcome)]
    undecided = sum(isinstance(outcome, Undecided) for outcome in outcomes)
    send_runs(engine, [run for run in created if run.status is Status.DISPATCHED], deadline)
    existing = len(runs) - len(created) - undecided
    reached = zip(chosen, outcomes, strict=True)
    left = [*(time for time, outcome in reached if isinstance(outcome, Undecided)), *times[len(chosen) :]]
    return Backfilled(created, existing, len(left), left[0] if left else None)


def refuse_stopped(job: Record, what: str) -> None:
    """Raise JobConflict for a job that is stopped, or that waits for events: no payload fits a run without one."""
    if job.kind is Kind.EVENT:
        raise JobConflict(f"a job that waits for events cannot {what}; send one that matches: POST /v1/events")
    if job.status in _STOPPED:
        advice = "; resume it first" if job.status is Status.PAUSED else ""
        raise JobConflict(f"a job that is {job.status} cannot {what}{advice}")
