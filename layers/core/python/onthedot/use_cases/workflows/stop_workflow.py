"""Cancel or delete a job; with a workflow goes what has not ended of its latest graph."""

from typing import Final

from onthedot.domain.errors import JobConflict
from onthedot.domain.runs.records import TERMINAL, Kind, Record, Status
from onthedot.ports import Deadline, Engine
from onthedot.use_cases.jobs.change_job import cancel_job
from onthedot.use_cases.jobs.delete_job import delete_job
from onthedot.use_cases.jobs.read_jobs import read_job
from onthedot.use_cases.workflows.end_graph import end_graph
from onthedot.use_cases.workflows.notify_children import notify_children
from onthedot.use_cases.workflows.read_workflow import is_workflow, latest_graph

PATIENCE_MS: Final = 15_000


def cancel_whole(engine: Engine, tenant: str, job_id: str) -> Record:
    """Raises JobNotFound, JobConflict, and Unavailable: then some of the graph may go on, until it is asked again."""
    job = read_job(engine, tenant, job_id)
    if not is_workflow(job):
        return cancel_job(engine, tenant, job_id)
    if job.kind is Kind.RECURRING or job.status not in TERMINAL:
        cancelled = cancel_job(engine, tenant, job_id)
        if job.kind is Kind.RECURRING:
            _stop_latest(engine, job, Status.CANCELLED)
        return cancelled
    if job.status is not Status.SUCCEEDED:
        return cancel_job(engine, tenant, job_id)
    if not _end(engine, job, Status.CANCELLED):
        raise JobConflict("a workflow whose jobs have all ended cannot be cancelled")
    return job


def delete_whole(engine: Engine, tenant: str, job_id: str) -> None:
    """Raises JobNotFound and Unavailable."""
    job = read_job(engine, tenant, job_id)
    if is_workflow(job) and job.kind is Kind.RECURRING:
        # First, for afterwards nobody finds it by the job. Of a one-off, its own end takes the graph with it.
        _stop_latest(engine, job, Status.DELETED)
    delete_job(engine, tenant, job_id)


def _stop_latest(engine: Engine, job: Record, how: Status) -> None:
    """A run that still makes its graph is skipped when it is tried again, and takes its jobs with it."""
    run = latest_graph(engine, job)
    if run is not None and run.attempt and run.status is Status.SUCCEEDED:
        _end(engine, run, how)


def _end(engine: Engine, run: Record, how: Status) -> bool:
    """Whether there was anything to end."""
    deadline = Deadline.after(engine.clock, PATIENCE_MS)
    counted = end_graph(engine, run, how, deadline)
    for job in counted.to_tell:
        notify_children(engine, job, deadline)
    return counted.touched > 0
