"""Recurring jobs for scenarios, and what must be true of their runs."""

from dataclasses import replace
from typing import Any

from onthedot.core.choices import Priority, RetryPolicy
from onthedot.core.records import Definition, Kind, Record, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.engine import Engine
from onthedot.jobs.change import cancel_job, change_job, delete_job, pause_job, resume_job
from onthedot.jobs.changes import JobChange
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.schedules.choices import Misfire, MisfirePolicy, OverlapPolicy
from onthedot.schedules.schedule import CronSchedule, EverySchedule, Recurrence, Schedule, fires_between
from onthedot.targets.types import HttpTarget
from tests.builders import NOON
from tests.scenarios.kits.faults import Faults
from tests.scenarios.kits.simulation import NEVER, Simulation


def every(seconds: int, simulation: Simulation, **limits: Any) -> Schedule:
    return Schedule(EverySchedule(seconds, simulation.clock.now() + seconds * 1000), **limits)


def cron(expression: str, **limits: Any) -> Schedule:
    return Schedule(CronSchedule(expression), **limits)


def submit(  # noqa: PLR0917
    simulation: Simulation,
    schedule: Schedule,
    misfire: Misfire | None = None,
    overlap: OverlapPolicy = OverlapPolicy.ALLOW,
    max_runs: int | None = None,
    faults: Faults = NEVER,
) -> Record:
    request = JobRequest(
        definition=Definition(HttpTarget("http://x/"), payload={"n": 1}, retry=RetryPolicy(jitter=False)),
        fingerprint="f",
        priority=Priority.MEDIUM,
        pool=DEFAULT_POOL,
        recurrence=Recurrence(schedule, misfire or Misfire(), overlap, max_runs),
        idempotency_key=f"key-{schedule}",
    )
    return submit_job(simulation.engine(faults), "acme", request)


def run_all(grace: int = 60) -> Misfire:
    return Misfire(MisfirePolicy.RUN_ALL, grace)


def skip_missed(grace: int = 60) -> Misfire:
    return Misfire(MisfirePolicy.SKIP, grace)


def runs_of(simulation: Simulation, job: Record) -> list[Record]:
    """All records of the job's fire times, earliest first."""
    page = simulation.world.store.runs_of(job.job_id, 100_000)
    return list(page.items)[::-1]


def nominals(simulation: Simulation, job: Record, *statuses: Status) -> list[int]:
    return [r.fire_time for r in runs_of(simulation, job) if r.status in statuses and r.kind is Kind.STAMPED]


def skipped_count(simulation: Simulation, job: Record) -> int:
    return sum(r.skipped_count or 0 for r in runs_of(simulation, job) if r.kind is Kind.SKIPPED_RANGE)


def fired(simulation: Simulation, job: Record) -> list[int]:
    """When the target was called for this job, by run."""
    return sorted(at for run_id, _, at in simulation.target.calls if run_id.startswith(job.job_id))


def expected(simulation: Simulation, schedule: Schedule) -> list[int]:
    """All times of the schedule so far."""
    return fires_between(schedule, NOON, simulation.clock.now() + 1, 100_000)


def pause(simulation: Simulation, job: Record) -> None:
    pause_job(simulation.world.engine, "acme", job.job_id)


def resume(simulation: Simulation, job: Record) -> None:
    resume_job(simulation.world.engine, "acme", job.job_id)


def pause_and_resume(simulation: Simulation, job: Record) -> None:
    pause(simulation, job)
    resume(simulation, job)


def cancel(simulation: Simulation, job: Record) -> None:
    cancel_job(simulation.world.engine, "acme", job.job_id)


def delete(simulation: Simulation, job: Record) -> None:
    delete_job(simulation.world.engine, "acme", job.job_id)


def changed_to(simulation: Simulation, job: Record, schedule: Schedule) -> None:
    change_schedule(simulation.world.engine, job, schedule)


def change_schedule(engine: Engine, job: Record, schedule: Schedule) -> Record:
    def wanted(present: Record, _: int) -> JobChange:
        assert present.recurrence is not None
        return JobChange(recurrence=replace(present.recurrence, schedule=schedule))

    return change_job(engine, "acme", job.job_id, wanted, None)
