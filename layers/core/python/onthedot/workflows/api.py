"""Workflows: submit one, and show one with the statuses of its jobs.

The body is read job by job, each as if it were submitted alone, and then the graph as a whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NotRequired

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict

from onthedot.api.errors import ApiError
from onthedot.api.reading import choice_problems, null_problems, read_shape
from onthedot.api.route import RequestContext, Route
from onthedot.api.times import show_time
from onthedot.core.choices import MAX_JOBS, OnParentFailure
from onthedot.core.errors import InvalidRequest, Problem
from onthedot.core.ids import node_job_id
from onthedot.core.records import Definition, Kind, Record
from onthedot.jobs.answers import RECURRENCE_VIEW, AcceptedView, accepted_view, recurrence_view
from onthedot.jobs.list_runs import next_fire_of
from onthedot.jobs.requests import (
    IDEMPOTENCY_HEADER,
    ONE_OFF_FIELDS,
    check_gates,
    check_payload,
    choose_key,
    definition_of,
    fingerprint_of,
    read_jobs_object,
    record_of,
    schedule_problems,
    work_problems,
)
from onthedot.jobs.shapes import HeadFields, NodeFields, WorkflowFields, shape
from onthedot.jobs.shown import shown_status
from onthedot.jobs.spec import BY_NAME, FIELDS, Has, Stored, of_new
from onthedot.jobs.submit import JobRequest
from onthedot.schedules.fields import RULE_FIELDS, cron_with_h, fire_instant, new_recurrence
from onthedot.schedules.local_times import LocalTime
from onthedot.targets.types import WorkflowTarget
from onthedot.workflows.graph import Node, check, critical_path
from onthedot.workflows.members import Member
from onthedot.workflows.read import WorkflowState, read_workflow
from onthedot.workflows.submit import accept_workflow

_ADVICE: Final[Mapping[str, str]] = {
    "on_event": "is not for jobs of a workflow; remove it",
    "dependencies": "names jobs by id; name jobs of the workflow by key in depends_on",
}
_ABOVE: Final = "is for the whole workflow, not for one of its jobs; give it next to jobs"
_MISPLACED: Final = {field.name: _ADVICE.get(field.name, _ABOVE) for field in FIELDS if Has.NODE not in field.has}
"""The fields that a job may have and a job of a workflow may not, with the advice for each."""


class MemberIdView(TypedDict):
    """A job of the workflow by its key. `job_id` is null when the workflow recurs: each time makes new jobs."""

    key: str
    job_id: str | None


class AcceptedWorkflowView(AcceptedView):
    """A workflow as it was accepted, with the ids of its jobs."""

    workflow_id: str
    jobs: list[MemberIdView]


class MemberView(TypedDict):
    """A job of the workflow and its status."""

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
    """The number of jobs: in all, ended, and by status."""

    total: int
    ended: int
    by_status: dict[str, int]


ScheduleView: Final = shape(
    "ScheduleView",
    "The schedule of a workflow that recurs.",
    {**RECURRENCE_VIEW, "status": str, "next_fire_time": str | None},
    closed=False,
)


class WorkflowView(TypedDict):
    """A workflow with the statuses of its jobs.

    `run_id` is the run that makes the graph. For a recurring workflow it is the latest run. `critical_path` lists the
    keys of the chain of jobs that takes longest.
    """

    workflow_id: str
    run_id: str | None
    name: str | None
    status: str
    reason: str | None
    fire_time: str | None
    progress: ProgressView
    critical_path: list[str]
    jobs: list[MemberView]
    schedule: ScheduleView | None  # type: ignore[valid-type]


def _read_request(body: bytes, header_key: str | None, now: int) -> tuple[JobRequest, list[Member]]:
    """Return the request in a body and the jobs of its graph. `accept_workflow` checks later whether its times fit."""
    document = read_jobs_object(body)
    problems = [
        *choice_problems(document, (*ONE_OFF_FIELDS, *RULE_FIELDS)),
        *schedule_problems(document),
        *null_problems(WorkflowFields, document, frozenset()),
    ]
    if problems:
        raise InvalidRequest(*problems)
    fields = read_shape(HeadFields, document)
    request = JobRequest(
        definition=Definition(WorkflowTarget(), **of_new(fields, Stored.DEFINITION)),
        fingerprint=fingerprint_of(document),
        priority=BY_NAME["priority"].of_new(fields),
        recurrence=new_recurrence(fields, now),
        cron_with_h=cron_with_h(fields),
        at=fire_instant(fields),
        delay_ms=fields.get("delay"),
        idempotency_key=choose_key(fields.get("idempotency_key"), header_key),
    )
    return request, _members(fields["jobs"])


def _members(entries: Sequence[Any]) -> list[Member]:
    """Return the jobs of the graph, which is checked only when every job can be read."""
    if not entries or len(entries) > MAX_JOBS:
        raise InvalidRequest(*check([Node("")] * len(entries)))
    members: list[Member] = []
    problems: list[Problem] = []
    for number, entry in enumerate(entries):
        try:
            members.append(_member(entry, number))
        except InvalidRequest as error:
            problems += [Problem(_path(number, one.field), one.message) for one in error.problems]
    if not problems:
        problems = check([Node(member.key, member.depends_on) for member in members])
    if problems:
        raise InvalidRequest(*problems)
    return members


def _path(number: int, field: str) -> str:
    return f"jobs.{number}.{field}" if field and field != "body" else f"jobs.{number}"


def _member(entry: Any, number: int) -> Member:
    if not isinstance(entry, dict):
        raise InvalidRequest(Problem("body", "is not an object; send {…} with the job's fields"))
    problems = [
        *(Problem(name, advice) for name, advice in _MISPLACED.items() if name in entry),
        *choice_problems(entry, ONE_OFF_FIELDS),
        *work_problems(entry, NodeFields),
    ]
    if problems:
        raise InvalidRequest(*problems)
    fields = read_shape(NodeFields, entry)
    try:
        check_payload(fields)
    except ApiError as error:
        named = [Problem(_path(number, one.field), one.message) for one in error.problems]
        raise ApiError(error.status, error.code, f"jobs.{number}.{error.message}", named) from error
    if "on_parent_failure" in fields and not fields.get("depends_on"):
        raise InvalidRequest(Problem("on_parent_failure", "works only with depends_on; add some or remove it"))
    check_gates(fields)
    return Member(
        key=fields["key"],
        depends_on=fields.get("depends_on", ()),
        definition=definition_of(fields),
        priority=BY_NAME["priority"].of_new(fields),
        at=_instant(fields.get("at")),
        delay_ms=fields.get("delay"),
        on_parent_failure=fields.get("on_parent_failure", OnParentFailure.FAIL),
        record=record_of(fields),
    )


def _instant(at: int | LocalTime | None) -> int | None:
    """Return the time of one job of the graph, which has no zone of its own."""
    if isinstance(at, LocalTime):
        raise InvalidRequest(Problem("at", "has no offset from UTC; add Z or ±hh:mm, such as 2030-01-31T09:30:00Z"))
    return at


def _member_view(state: WorkflowState, member: Member) -> MemberView:
    job = state.members.get(member.key)
    view: MemberView = {
        "key": member.key,
        "job_id": state.ids.get(member.key),
        "status": state.status_of(member.key),
        "depends_on": list(member.depends_on),
        "name": member.definition.name,
        "fire_time": None if job is None else show_time(job.fire_time),
        "started_at": None if job is None else show_time(job.started_at),
        "finished_at": None if job is None else show_time(job.finished_at),
        "reason": None if job is None else job.reason,
    }
    if member.depends_on:
        view["on_parent_failure"] = member.on_parent_failure.value
    return view


def _schedule(job: Record, next_at: int | None, now: int) -> dict[str, Any] | None:
    if job.kind is not Kind.RECURRING:
        return None
    return {**recurrence_view(job, now), "status": shown_status(job, next_at), "next_fire_time": show_time(next_at)}


def submit_graph(context: RequestContext) -> AcceptedWorkflowView:
    """Submit a workflow: all of its jobs, or none."""
    now = context.engine.clock.now()
    read, members = _read_request(context.request.body, context.request.header(IDEMPOTENCY_HEADER), now)
    request = replace(read, trace=context.request.trace, by=context.caller)
    job = accept_workflow(context.engine, context.tenant, request, members, now)
    recurs = job.kind is Kind.RECURRING
    ids: list[MemberIdView] = [
        {"key": member.key, "job_id": None if recurs else node_job_id(job.run_id, member.key)} for member in members
    ]
    return {**accepted_view(job, next_fire_of(context.engine, job)), "workflow_id": job.job_id, "jobs": ids}


def show_workflow(context: RequestContext) -> WorkflowView:
    """Answer a workflow with the statuses of its jobs."""
    state = read_workflow(context.engine, context.tenant, context.id)
    now = context.engine.clock.now()
    progress = state.progress()
    return {
        "workflow_id": context.id,
        "run_id": None if state.run is None else state.run.run_id,
        "name": None if state.job.definition is None else state.job.definition.name,
        "status": state.status(),
        "reason": None if state.run is None else state.run.reason,
        "fire_time": None if state.run is None else show_time(state.run.fire_time),
        "progress": {"total": progress.total, "ended": progress.ended, "by_status": dict(progress.by_status)},
        "critical_path": critical_path(state.workflow.graph, state.seconds(now)),
        "jobs": [_member_view(state, member) for member in state.workflow.members],
        "schedule": _schedule(state.job, next_fire_of(context.engine, state.job), now),
    }


ROUTES: Final = (
    Route(
        "POST",
        "/v1/workflows",
        submit_graph,
        "Schedule jobs that wait for each other, all of them or none",
        AcceptedWorkflowView,
        status=202,
        body=WorkflowFields,
        headers=(IDEMPOTENCY_HEADER,),
        errors=(400, 409, 413, 422),
    ),
    Route(
        "GET",
        "/v1/workflows/{id}",
        show_workflow,
        "Get a workflow's graph and the states of its jobs",
        WorkflowView,
        errors=(404,),
    ),
)
