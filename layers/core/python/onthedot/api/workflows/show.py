"""Workflows as the API shows them: the graph, the states of its jobs, and how far it has come."""

from typing import NotRequired

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict

from onthedot.api.executions.show import maybe_time
from onthedot.api.jobs import show as present
from onthedot.api.jobs import views
from onthedot.api.schedules.show import recurrence_view
from onthedot.domain.runs.records import Kind, Record
from onthedot.domain.workflows.graph import critical_path
from onthedot.use_cases.workflows.read_workflow import State
from onthedot.use_cases.workflows.workflow_graph import Member


class MemberIdView(TypedDict):
    key: str
    job_id: str | None


class AcceptedWorkflowView(views.AcceptedView):
    """`job_id` of a job is null where the workflow recurs: each time makes new ones."""

    workflow_id: str
    jobs: list[MemberIdView]


class MemberView(TypedDict):
    key: str
    job_id: str | None
    status: str
    depends_on: list[str]
    on_parent_failure: NotRequired[str]
    name: str | None
    fire_time: str | None
    started_at: str | None
    finished_at: str | None
    reason: str | None


class ProgressView(TypedDict):
    total: int
    ended: int
    by_status: dict[str, int]


class ScheduleView(views.RecurrenceView):
    """Of a workflow that recurs."""

    status: str
    next_fire_time: str | None


class WorkflowView(TypedDict):
    """`run_id`: the run that makes the graph; of a recurring workflow the latest."""

    workflow_id: str
    run_id: str | None
    name: str | None
    status: str
    reason: str | None
    fire_time: str | None
    progress: ProgressView
    critical_path: list[str]
    jobs: list[MemberView]
    schedule: ScheduleView | None


def accepted_workflow_view(job: Record, next_at: int | None, ids: list[tuple[str, str | None]]) -> AcceptedWorkflowView:
    named: list[MemberIdView] = [{"key": key, "job_id": job_id} for key, job_id in ids]
    return {**present.accepted_view(job, next_at), "workflow_id": job.job_id, "jobs": named}


def workflow_view(workflow_id: str, state: State, now: int, next_at: int | None) -> WorkflowView:
    progress = state.progress()
    return {
        "workflow_id": workflow_id,
        "run_id": None if state.run is None else state.run.run_id,
        "name": None if state.job.definition is None else state.job.definition.name,
        "status": state.status(),
        "reason": None if state.run is None else state.run.reason,
        "fire_time": None if state.run is None else maybe_time(state.run.nominal_at),
        "progress": {"total": progress.total, "ended": progress.ended, "by_status": dict(progress.by_status)},
        "critical_path": critical_path(state.workflow.graph, state.seconds(now)),
        "jobs": [_member_view(state, member) for member in state.workflow.members],
        "schedule": _schedule(state.job, next_at),
    }


def _member_view(state: State, member: Member) -> MemberView:
    job = state.members.get(member.key)
    view: MemberView = {
        "key": member.key,
        "job_id": state.ids.get(member.key),
        "status": state.status_of(member.key),
        "depends_on": list(member.depends_on),
        "name": member.definition.name,
        "fire_time": None if job is None else maybe_time(job.nominal_at),
        "started_at": None if job is None else maybe_time(job.started_at),
        "finished_at": None if job is None else maybe_time(job.finished_at),
        "reason": None if job is None else job.reason,
    }
    if member.depends_on:
        view["on_parent_failure"] = member.on_parent_failure.value
    return view


def _schedule(job: Record, next_at: int | None) -> ScheduleView | None:
    if job.kind is not Kind.RECURRING:
        return None
    return {**recurrence_view(job), "status": present.shown_status(job, next_at), "next_fire_time": maybe_time(next_at)}
