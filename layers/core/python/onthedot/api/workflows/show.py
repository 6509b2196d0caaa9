"""Show workflows: the graph, the statuses of its jobs, and its progress."""

from collections.abc import Sequence

from onthedot.api.core.times import show_time
from onthedot.api.jobs.show import accepted_view
from onthedot.api.schedules.show import recurrence_view
from onthedot.api.workflows.views import AcceptedWorkflowView, MemberIdView, MemberView, ScheduleView, WorkflowView
from onthedot.domain.ids import node_job_id
from onthedot.domain.runs.records import Kind, Record
from onthedot.domain.runs.shown_status import shown_status
from onthedot.domain.workflows.graph import critical_path
from onthedot.use_cases.workflows.read_workflow import WorkflowState
from onthedot.use_cases.workflows.workflow_graph import Member


def accepted_workflow_view(job: Record, next_at: int | None, members: Sequence[Member]) -> AcceptedWorkflowView:
    ids = [_member_id(job, member.key) for member in members]
    return {**accepted_view(job, next_at), "workflow_id": job.job_id, "jobs": ids}


def workflow_view(workflow_id: str, state: WorkflowState, now: int, next_at: int | None) -> WorkflowView:
    """Return a workflow with the statuses of its jobs."""
    progress = state.progress()
    return {
        "workflow_id": workflow_id,
        "run_id": None if state.run is None else state.run.run_id,
        "name": None if state.job.definition is None else state.job.definition.name,
        "status": state.status(),
        "reason": None if state.run is None else state.run.reason,
        "fire_time": None if state.run is None else show_time(state.run.nominal_at),
        "progress": {"total": progress.total, "ended": progress.ended, "by_status": dict(progress.by_status)},
        "critical_path": critical_path(state.workflow.graph, state.seconds(now)),
        "jobs": [_member_view(state, member) for member in state.workflow.members],
        "schedule": _schedule(state.job, next_at, now),
    }


def _member_id(job: Record, key: str) -> MemberIdView:
    return {"key": key, "job_id": None if job.kind is Kind.RECURRING else node_job_id(job.run_id, key)}


def _member_view(state: WorkflowState, member: Member) -> MemberView:
    job = state.members.get(member.key)
    view: MemberView = {
        "key": member.key,
        "job_id": state.ids.get(member.key),
        "status": state.status_of(member.key),
        "depends_on": list(member.depends_on),
        "name": member.definition.name,
        "fire_time": None if job is None else show_time(job.nominal_at),
        "started_at": None if job is None else show_time(job.started_at),
        "finished_at": None if job is None else show_time(job.finished_at),
        "reason": None if job is None else job.reason,
    }
    if member.depends_on:
        view["on_parent_failure"] = member.on_parent_failure.value
    return view


def _schedule(job: Record, next_at: int | None, now: int) -> ScheduleView | None:
    if job.kind is not Kind.RECURRING:
        return None
    return {**recurrence_view(job, now), "status": shown_status(job, next_at), "next_fire_time": show_time(next_at)}
