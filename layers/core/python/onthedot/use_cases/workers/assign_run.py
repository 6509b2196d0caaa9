"""Assign a run to one worker, which gets it with its next lease.

If that worker asks for no lease, another worker of the pool gets the run.
"""

from dataclasses import replace
from typing import Final

from onthedot.domain.errors import InvalidRequest, JobConflict, Problem, Unavailable
from onthedot.domain.ids import extra_run_id, fresh_generation
from onthedot.domain.runs import lifecycle
from onthedot.domain.runs.change_log import ChangeAction, ChangeNote, noted
from onthedot.domain.runs.changes import assign
from onthedot.domain.runs.records import SCHEDULED, Kind, Record
from onthedot.domain.runs.stamping import new_run
from onthedot.domain.workers.records import MOST_ASSIGNED, WorkerRecord, WorkerStatus
from onthedot.ports import Engine, Moved
from onthedot.use_cases.jobs.read_jobs import read_job
from onthedot.use_cases.jobs.run_extra import refuse_stopped
from onthedot.use_cases.workers.able_workers import needs_of_definition
from onthedot.use_cases.workers.lease_signals import end_wait
from onthedot.use_cases.workers.worker_registry import see_worker

TRIES: Final = 5


def assign_to_worker(engine: Engine, tenant: str, job_id: str, worker_id: str, by: str | None = None) -> Record:
    """Assign a job to the worker that a client names, and return the run that the worker will get.

    `by` names the client. A one-off job that is due and waits is assigned itself. Any other job gets an extra run,
    now. Raise JobNotFound, WorkerNotFound, JobConflict or Unavailable, and InvalidRequest for a worker that cannot
    run the job.
    """
    for _ in range(TRIES):
        job = read_job(engine, tenant, job_id)
        worker = see_worker(engine, tenant, worker_id)
        refuse_stopped(job, "be assigned to a worker")
        _refuse_unable(engine, job, worker)
        run = _stored(engine, job, worker, by)
        if run is not None:
            # An API that dies before this line costs time: the sweep finds the run in its watch slot.
            engine.registry.assign(worker_id, run.run_id)
            end_wait(engine, worker_id)
            return run
    raise Unavailable(f"{job_id} keeps changing; try again")


def _stored(engine: Engine, job: Record, worker: WorkerRecord, by: str | None) -> Record | None:
    """Store the run for the worker. None: the job changed meanwhile."""
    now = engine.clock.now()
    if job.kind is Kind.ONE_OFF and job.status in SCHEDULED and job.fire_at <= now:
        move = noted(job, assign(job, worker.pool, now, engine.deployment), ChangeNote(now, ChangeAction.ASSIGN, by))
        return lifecycle.applied(job, move) if isinstance(engine.store.move(move), Moved) else None
    run_id = extra_run_id(job.job_id, now, f"manual-{fresh_generation()}")
    run = new_run(job, run_id, now, now, now=now, deployment=engine.deployment, trigger="manual")
    run = replace(run, pool=worker.pool)
    engine.store.create(run)
    return run


def _refuse_unable(engine: Engine, job: Record, worker: WorkerRecord) -> None:
    now = engine.clock.now()
    if worker.status(now) is not WorkerStatus.ACTIVE:
        raise JobConflict(f"worker {worker.worker_id} is {worker.status(now)}; choose an ACTIVE one")
    if len(worker.assigned) >= MOST_ASSIGNED:
        raise JobConflict(f"{MOST_ASSIGNED} runs wait for worker {worker.worker_id} already; choose another, or none")
    if job.definition is None:
        return
    needs = needs_of_definition(job.definition)
    if not worker.can_do(needs):
        lacking = ", ".join(sorted(needs.capabilities - worker.capabilities)) or "cpu, memory_mb or storage_mb"
        raise InvalidRequest(Problem("worker_id", f"this worker cannot run the job: it lacks {lacking}"))
