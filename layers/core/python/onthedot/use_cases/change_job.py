"""Pause, resume, cancel and change a job. Each races with claim, start and finish: one or the other happens, whole."""

from collections.abc import Callable
from typing import Final

from onthedot.domain import changes
from onthedot.domain.changes import Change
from onthedot.domain.errors import PreconditionFailed, Unavailable
from onthedot.domain.ids import fresh_generation
from onthedot.domain.lifecycle import applied
from onthedot.domain.run import Kind, Move, Record, Status
from onthedot.domain.slots import horizon
from onthedot.ports import Deadline, Engine, Moved
from onthedot.use_cases.hand_over import hand_over
from onthedot.use_cases.read_jobs import read_job
from onthedot.use_cases.stamp_runs import stamp_jobs

TRIES: Final = 8
SEND_PATIENCE_MS: Final = 5_000


def pause_job(engine: Engine, tenant: str, job_id: str) -> Record:
    """Raises JobNotFound or JobConflict."""
    return _decide(engine, tenant, job_id, changes.pause)


def resume_job(engine: Engine, tenant: str, job_id: str) -> Record:
    """Raises JobNotFound or JobConflict."""
    job = _decide(engine, tenant, job_id, lambda job, now: changes.resume(job, now, engine.plan))
    return schedule_soon(engine, job)


def cancel_job(engine: Engine, tenant: str, job_id: str) -> Record:
    """Raises JobNotFound or JobConflict."""
    return _decide(engine, tenant, job_id, lambda job, now: changes.cancel(job, now, engine.plan))


def change_job(
    engine: Engine, tenant: str, job_id: str, wanted: Callable[[Record, int], Change], if_match: int | None
) -> Record:
    """A PATCH: `wanted` makes the change from the job as it is. Raises JobNotFound, JobConflict, PreconditionFailed."""

    def decide(job: Record, now: int) -> Move:
        if if_match is not None and job.version != if_match:
            raise PreconditionFailed(f"the job has version {job.version}, not {if_match}")
        return changes.change(job, wanted(job, now), now, engine.plan)

    return schedule_soon(engine, _decide(engine, tenant, job_id, decide))


def schedule_soon(engine: Engine, job: Record) -> Record:
    """Hand over what is due before the next tick would come. Dying before it costs time, not the run."""
    now = engine.clock.now()
    deadline = Deadline(now + SEND_PATIENCE_MS)
    if job.kind is Kind.RECURRING:
        if job.status is Status.ACTIVE and job.fire_at < horizon(now, engine.plan.lookahead):
            stamp_jobs(engine, [job.run_id], f"api/{fresh_generation()}", deadline)
            return engine.store.get(job.run_id) or job
    elif job.status is Status.DISPATCHED:
        hand_over(engine, [job], deadline)
    return job


def _decide(engine: Engine, tenant: str, job_id: str, decide: Callable[[Record, int], Move | None]) -> Record:
    """Read, decide, compare and set; again when something else happened in between."""
    for _ in range(TRIES):
        job = read_job(engine, tenant, job_id)
        move = decide(job, engine.clock.now())
        if move is None:
            return job
        if isinstance(engine.store.move(move), Moved):
            return applied(job, move)
    raise Unavailable(f"{job_id} keeps changing; try again")
