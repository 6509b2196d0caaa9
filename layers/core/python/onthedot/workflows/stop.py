"""Cancel or delete a job. A workflow's latest graph ends with it, unless it has ended already."""

from onthedot.core import patience
from onthedot.core.errors import JobConflict
from onthedot.core.ports import Deadline
from onthedot.core.records import TERMINAL, Kind, Record, Status
from onthedot.engine import Engine
from onthedot.jobs.change import cancel_job, delete_job
from onthedot.jobs.list_runs import read_job
from onthedot.workflows.end import end_graph
from onthedot.workflows.notify import notify_children
from onthedot.workflows.read import is_workflow, latest_graph


def cancel_whole(engine: Engine, tenant: str, job_id: str, by: str | None = None) -> Record:
    """Cancel a job, and the graph of a workflow. Return the job. `by` names the client.

    Raise JobNotFound or JobConflict. Raise Unavailable when jobs of the graph may still run: then the client must
    cancel again.
    """
    job = read_job(engine, tenant, job_id)
    if not is_workflow(job):
        return cancel_job(engine, tenant, job_id, by)
    if job.kind is Kind.RECURRING or job.status not in TERMINAL:
        cancelled = cancel_job(engine, tenant, job_id, by)
        if job.kind is Kind.RECURRING:
            _stop_latest(engine, job, Status.CANCELLED)
        return cancelled
    if job.status is not Status.SUCCEEDED:
        return cancel_job(engine, tenant, job_id, by)
    if not _end(engine, job, Status.CANCELLED):
        raise JobConflict("a workflow whose jobs have all ended cannot be cancelled")
    return job


def delete_whole(engine: Engine, tenant: str, job_id: str) -> None:
    """Delete a job, and the graph of a workflow. Raise JobNotFound or Unavailable."""
    job = read_job(engine, tenant, job_id)
    if is_workflow(job) and job.kind is Kind.RECURRING:
        # The graph is ended first, because it cannot be found from a deleted job. A one-off job ends its graph when it
        # ends.
        _stop_latest(engine, job, Status.DELETED)
    delete_job(engine, tenant, job_id)


def _stop_latest(engine: Engine, job: Record, how: Status) -> None:
    """End the graph of the latest run, if it is made. A run that still makes its graph is skipped at its next try."""
    run = latest_graph(engine, job)
    if run is not None and run.attempt and run.status is Status.SUCCEEDED:
        _end(engine, run, how)


def _end(engine: Engine, run: Record, how: Status) -> bool:
    """End the graph. Return whether any job of it had not ended."""
    deadline = Deadline.after(engine.clock.now(), patience.REQUEST_MS)
    ended = end_graph(engine, run, how, deadline)
    for job in ended.to_notify:
        notify_children(engine, job, deadline)
    return ended.touched > 0
