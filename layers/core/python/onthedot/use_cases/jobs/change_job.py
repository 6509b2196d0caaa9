"""Pause, resume, cancel and change a job. Each races with claim, start and finish: one or the other happens, whole."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from onthedot.domain.errors import PreconditionFailed, Unavailable
from onthedot.domain.ids import fresh_generation
from onthedot.domain.runs import changes
from onthedot.domain.runs.changes import JobChange
from onthedot.domain.runs.lifecycle import applied
from onthedot.domain.runs.moves import Move
from onthedot.domain.runs.records import Kind, Record, Status
from onthedot.domain.runs.slots import horizon
from onthedot.domain.runs.stamping import given_up
from onthedot.ports import Deadline, Engine, Moved
from onthedot.use_cases.dispatch.send_runs import send_runs
from onthedot.use_cases.dispatch.stamp_runs import stamp_jobs
from onthedot.use_cases.events import pattern_index
from onthedot.use_cases.jobs.read_jobs import read_job
from onthedot.use_cases.workflows.notify_children import link_to_parents, notify_children

TRIES: Final = 8
SEND_PATIENCE_MS: Final = 5_000


def pause_job(engine: Engine, tenant: str, job_id: str) -> Record:
    """Raises JobNotFound or JobConflict."""
    return _decide(engine, tenant, job_id, changes.pause)[1]


def resume_job(engine: Engine, tenant: str, job_id: str) -> Record:
    """Raises JobNotFound or JobConflict."""
    before, job = _decide(engine, tenant, job_id, lambda job, now: changes.resume(job, now, engine.deployment))
    return _schedule_again(engine, before, job)


def cancel_job(engine: Engine, tenant: str, job_id: str) -> Record:
    """Raises JobNotFound or JobConflict."""
    return _decide(engine, tenant, job_id, lambda job, now: changes.cancel(job, now, engine.deployment))[1]


def change_job(
    engine: Engine, tenant: str, job_id: str, wanted: Callable[[Record, int], JobChange], if_match: int | None
) -> Record:
    """A PATCH: `wanted` makes the change from the job as it is. Raises JobNotFound, JobConflict, PreconditionFailed."""

    def decide(job: Record, now: int) -> Move:
        if if_match is not None and job.version != if_match:
            raise PreconditionFailed(f"the job has version {job.version}, not {if_match}")
        return changes.change(job, wanted(job, now), now, engine.deployment)

    before, job = _decide(engine, tenant, job_id, decide)
    return _schedule_again(engine, before, job)


def _schedule_again(engine: Engine, before: Record, job: Record) -> Record:
    """A one-off run that kept its generation keeps its message too."""
    if job.kind is Kind.ONE_OFF and job.generation == before.generation:
        return job
    return schedule_soon(engine, job)


def schedule_soon(engine: Engine, job: Record) -> Record:
    """Hand over what is due before the next tick would come. Dying before it costs time, not the run."""
    now = engine.clock.now()
    deadline = Deadline(now + SEND_PATIENCE_MS)
    if job.status is Status.WAITING:
        link_to_parents(engine, job)
        return engine.store.get(job.run_id) or job
    if job.kind is Kind.RECURRING:
        if job.status is Status.ACTIVE and job.fire_at < horizon(now, engine.deployment.lookahead):
            stamp_jobs(engine, [job.run_id], f"api/{fresh_generation()}", deadline)
            return engine.store.get(job.run_id) or job
    elif job.status is Status.DISPATCHED:
        send_runs(engine, [job], deadline)
    return job


def _decide(
    engine: Engine, tenant: str, job_id: str, decide: Callable[[Record, int], Move | None]
) -> tuple[Record, Record]:
    """Read, decide, compare and set; again when something else happened in between. The job before and after."""
    for _ in range(TRIES):
        job = read_job(engine, tenant, job_id)
        move = decide(job, engine.clock.now())
        if move is None:
            return job, job
        changed = applied(job, move)
        pattern_index.enter_changed(engine, job, changed)
        outcome = engine.store.move(move)
        # Refused by exactly what we wanted to make of it: our own write, its reply lost.
        if isinstance(outcome, Moved) or _is(outcome.current, changed):
            record_what_is_given_up(engine, job, changed)
            notify_children(engine, changed)
            pattern_index.leave(engine, job, changed)
            return job, changed
        if changed.pattern_entry != job.pattern_entry:
            pattern_index.leave(engine, changed, outcome.current)
    raise Unavailable(f"{job_id} keeps changing; try again")


def _is(current: Record | None, wanted: Record) -> bool:
    """Whatever its revision: who came first to make the same of it does not matter."""
    return current is not None and replace(current, revision=wanted.revision) == wanted


def record_what_is_given_up(engine: Engine, before: Record, after: Record) -> None:
    """Missed times that nobody will settle any more get their outcome here."""
    record = given_up(before, after, engine.clock.now(), engine.deployment)
    if record is not None:
        engine.store.create(record)
