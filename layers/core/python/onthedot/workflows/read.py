"""Read a workflow: the graph that its run makes, and the statuses of its jobs."""

from collections.abc import Mapping
from dataclasses import dataclass

from onthedot.core import patience
from onthedot.core.errors import JobNotFound, Unavailable
from onthedot.core.ids import is_stamped
from onthedot.core.ports import Deadline
from onthedot.core.records import TERMINAL, Kind, Record, Status
from onthedot.engine import Engine
from onthedot.jobs.list_runs import read_own, recent_runs
from onthedot.workflows.graph import WorkflowProgress, progress
from onthedot.workflows.members import Workflow, graph_of, ids_of


@dataclass(frozen=True, slots=True)
class WorkflowState:
    job: Record
    """The job that was submitted."""
    run: Record | None
    """The run that makes the graph which is shown: the job itself, or the latest run of a recurring job."""
    workflow: Workflow
    ids: Mapping[str, str]
    """Ids of the graph's jobs by key. Empty while there is no run."""
    members: Mapping[str, Record]
    """The graph's jobs that exist, by key."""

    def status_of(self, key: str) -> str:
        """Return a job's status. One that does not exist yet is PENDING, or ended as its workflow's run did."""
        member = self.members.get(key)
        if member is not None:
            return _shown(member)
        run = self.run
        if run is None or run.status not in TERMINAL or run.status is Status.SUCCEEDED:
            return Status.PENDING.value
        return run.status.value

    def progress(self) -> WorkflowProgress:
        return progress({member.key: self.status_of(member.key) for member in self.workflow.members})

    def status(self) -> str:
        """Once all jobs exist, the status of the workflow comes from them. Before that, it comes from the run."""
        run = self.run
        if run is None:
            return Status.PENDING.value
        if run.status is Status.SUCCEEDED:
            return self.progress().status.value
        if run.status in TERMINAL or run.status is Status.PAUSED:
            return run.status.value
        return (Status.RUNNING if run.attempt else Status.PENDING).value

    def seconds(self, now: int) -> dict[str, float]:
        return {key: took / 1000 for key, job in self.members.items() if (took := _took(job, now)) is not None}


def read_workflow(engine: Engine, tenant: str, workflow_id: str) -> WorkflowState:
    """Read a workflow by the id of the job, or of one of its runs.

    Raise JobNotFound, Unavailable or UnreadableRecord.
    """
    found = read_own(engine, tenant, workflow_id)
    if found is None or not _is_workflow_of(tenant, found):
        raise JobNotFound(workflow_id)
    job = read_own(engine, tenant, found.job_id) if is_stamped(workflow_id) else found
    if job is None or job.definition is None or not _is_workflow_of(tenant, job):
        raise JobNotFound(workflow_id)
    workflow = graph_of(engine, job, job.definition)
    run = latest_graph(engine, found)
    ids = {} if run is None else ids_of(workflow, run.run_id)
    return WorkflowState(job, run, workflow, ids, _members(engine, ids))


def latest_graph(engine: Engine, job: Record) -> Record | None:
    """Return the run that makes the graph: the job itself, or its latest stamped run that has started."""
    if job.kind is not Kind.RECURRING:
        return job
    ahead = None
    for run in recent_runs(engine, job):
        if run.kind is Kind.STAMPED and run.attempt:
            return run
        ahead = run if run.kind is Kind.STAMPED else ahead
    return ahead


def is_workflow(job: Record) -> bool:
    """Return whether the record makes a graph, and is not one of its jobs."""
    return job.workflow is not None and job.workflow == job.run_id


def _is_workflow_of(tenant: str, record: Record) -> bool:
    return record.tenant == tenant and record.status is not Status.DELETED and is_workflow(record)


def _members(engine: Engine, ids: Mapping[str, str]) -> dict[str, Record]:
    deadline = Deadline.after(engine.clock.now(), patience.READ_WORKFLOW_MS)
    read = engine.store.get_many(list(ids.values()), deadline)
    if read.unread:
        raise Unavailable("the jobs could not be read in time")
    return {key: read.found[job_id] for key, job_id in ids.items() if job_id in read.found}


def _shown(job: Record) -> str:
    retrying = job.status in (Status.PENDING, Status.DISPATCHED) and job.attempt
    return "RETRYING" if retrying else job.status.value


def _took(job: Record, now: int) -> int | None:
    first = job.attempts[0].started_at if job.attempts else job.started_at
    if first is None:
        return None
    return (now if job.finished_at is None else job.finished_at) - first
