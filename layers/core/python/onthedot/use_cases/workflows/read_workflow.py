"""A workflow as it stands: the graph that its run makes, and the states of its jobs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from onthedot.domain.errors import JobNotFound, Unavailable
from onthedot.domain.ids import is_stamped
from onthedot.domain.runs.records import TERMINAL, Kind, Record, Status
from onthedot.domain.workflows.progress import WorkflowProgress, progress
from onthedot.ports import Deadline, Engine
from onthedot.use_cases.jobs.list_runs import recent_runs
from onthedot.use_cases.jobs.payloads import load_payload
from onthedot.use_cases.workflows.workflow_graph import Workflow, from_payload, ids_of

PATIENCE_MS: Final = 10_000


@dataclass(frozen=True, slots=True)
class State:
    """`job` is what was submitted, `run` what makes the graph that is shown: of a recurring one its latest run."""

    job: Record
    run: Record | None
    workflow: Workflow
    ids: Mapping[str, str]
    """By key; none where no run has been made yet."""
    members: Mapping[str, Record]
    """By key, those that exist."""

    def status_of(self, key: str) -> str:
        """Of one that does not exist: it waits to be made, or ended with its workflow."""
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
        """As its jobs are, once there are all of them; before that, as the run is that makes them."""
        run = self.run
        if run is None:
            return Status.PENDING.value
        if run.status is Status.SUCCEEDED:
            return self.progress().status.value
        if run.status in TERMINAL or run.status is Status.PAUSED:
            return run.status.value
        return (Status.RUNNING if run.attempt else Status.PENDING).value

    def seconds(self, now: int) -> dict[str, float]:
        """How long each job took, or takes by now, from its first start on."""
        return {key: took / 1000 for key, job in self.members.items() if (took := _took(job, now)) is not None}


def read_workflow(engine: Engine, tenant: str, workflow_id: str) -> State:
    """By the id of the job, or of one of its runs. Raises JobNotFound and Unavailable."""
    found = engine.store.get(workflow_id)
    if found is None or not _is_workflow_of(tenant, found):
        raise JobNotFound(workflow_id)
    job = engine.store.get(found.job_id) if is_stamped(workflow_id) else found
    if job is None or job.definition is None or not _is_workflow_of(tenant, job):
        raise JobNotFound(workflow_id)
    workflow = from_payload(load_payload(engine.blobs, job.definition))
    run = latest_graph(engine, found)
    ids = {} if run is None else ids_of(workflow, run.run_id)
    return State(job, run, workflow, ids, _members(engine, ids))


def latest_graph(engine: Engine, job: Record) -> Record | None:
    """The run that makes the graph: the job itself, or the latest that it stamped and that has begun."""
    if job.kind is not Kind.RECURRING:
        return job
    ahead = None
    for run in recent_runs(engine, job):
        if run.kind is Kind.STAMPED and run.attempt:
            return run
        ahead = run if run.kind is Kind.STAMPED else ahead
    return ahead


def is_workflow(job: Record) -> bool:
    return job.workflow is not None and job.workflow == job.run_id


def _is_workflow_of(tenant: str, record: Record) -> bool:
    return record.tenant == tenant and record.status is not Status.DELETED and is_workflow(record)


def _members(engine: Engine, ids: Mapping[str, str]) -> dict[str, Record]:
    deadline = Deadline.after(engine.clock, PATIENCE_MS)
    found = engine.store.get_many(list(ids.values()), deadline) if ids else {}
    if len(found) < len(ids) and not deadline.allows(engine.clock.now()):
        raise Unavailable("the jobs could not be read in time")
    return {key: found[job_id] for key, job_id in ids.items() if job_id in found}


def _shown(job: Record) -> str:
    retrying = job.status in (Status.PENDING, Status.DISPATCHED) and job.attempt
    return "RETRYING" if retrying else job.status.value


def _took(job: Record, now: int) -> int | None:
    first = job.attempts[0].started_at if job.attempts else job.started_at
    if first is None:
        return None
    return (now if job.finished_at is None else job.finished_at) - first
