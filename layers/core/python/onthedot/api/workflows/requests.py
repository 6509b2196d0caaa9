"""Read the body of `POST /v1/workflows`: each job as if it were submitted alone, and the graph as a whole."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from onthedot.api.core.errors import ApiError
from onthedot.api.core.reading import choice_problems, null_problems, read_model
from onthedot.api.core.times import milliseconds
from onthedot.api.jobs.batches import read_jobs_object
from onthedot.api.jobs.requests import (
    check_gates,
    check_payload,
    choose_key,
    definition_of,
    fingerprint_of,
    missing_target_problems,
    target_choice_problems,
)
from onthedot.api.schedules.fields import CRON_FIELDS, RECURRENCE_FIELDS, RULE_FIELDS, schedule_problems
from onthedot.api.schedules.recurrences import cron_with_h, fire_instant, new_recurrence
from onthedot.api.workflows.fields import HeadFields, NodeFields, WorkflowFields
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.runs.dependencies import OnParentFailure
from onthedot.domain.runs.records import Definition, Priority
from onthedot.domain.schedules.local_times import LocalTime
from onthedot.domain.targets.types import WorkflowTarget
from onthedot.domain.workflows.graph import MAX_JOBS, Node, check
from onthedot.use_cases.jobs.submit_job import JobRequest
from onthedot.use_cases.workflows.workflow_graph import Member

_ONE_OFF_FIELDS: Final = ("at", "delay")
_TIME_FIELDS: Final = (*_ONE_OFF_FIELDS, *RULE_FIELDS)
_MISPLACED: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (*RULE_FIELDS, *CRON_FIELDS, *RECURRENCE_FIELDS),
        "is for the whole workflow, not for one of its jobs; give it beside jobs",
    ),
    "on_event": "is not for jobs of a workflow; remove it",
    "dependencies": "names jobs by id; name jobs of the workflow by key in depends_on",
    "idempotency_key": "is for the whole workflow, not for one of its jobs; give it beside jobs",
}
"""The fields that a job may have and a job of a workflow may not, with the advice for each."""


def read_workflow_request(body: bytes, header_key: str | None, now: int) -> tuple[JobRequest, list[Member]]:
    """Return the request in a body and the jobs of its graph. `accept_workflow` checks later whether its times fit.

    Raise ApiError for a body that is not JSON or too large, and InvalidRequest.
    """
    document = read_jobs_object(body)
    problems = [
        *choice_problems(document, _TIME_FIELDS),
        *schedule_problems(document),
        *null_problems(WorkflowFields, document, frozenset()),
    ]
    if problems:
        raise InvalidRequest(*problems)
    fields = read_model(HeadFields, document)
    request = JobRequest(
        definition=Definition(WorkflowTarget(), name=fields.name, description=fields.description, tags=fields.tags),
        fingerprint=fingerprint_of(document),
        priority=Priority(fields.priority),
        recurrence=new_recurrence(fields, now),
        cron_with_h=cron_with_h(fields),
        at=fire_instant(fields.at, fields),
        delay_ms=None if fields.delay is None else milliseconds(fields.delay),
        idempotency_key=choose_key(fields.idempotency_key, header_key),
    )
    return request, _members(fields.jobs)


def _members(entries: Sequence[Any]) -> list[Member]:
    """Return the jobs of the graph. Raise ApiError and InvalidRequest.

    The graph is checked only when every job can be read.
    """
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
    """Return the path of a field of one job in the body."""
    return f"jobs.{number}.{field}" if field and field != "body" else f"jobs.{number}"


def _member(entry: Any, number: int) -> Member:
    if not isinstance(entry, dict):
        raise InvalidRequest(Problem("body", "is not an object; send {…} with the job's fields"))
    _check_names(entry)
    fields = read_model(NodeFields, entry)
    try:
        check_payload(fields.payload)
    except ApiError as error:
        named = [Problem(_path(number, one.field), one.message) for one in error.problems]
        raise ApiError(error.status, error.code, f"jobs.{number}.{error.message}", named) from error
    if fields.on_parent_failure is not None and not fields.depends_on:
        raise InvalidRequest(Problem("on_parent_failure", "works only with depends_on; add some or remove it"))
    check_gates(fields.gates)
    return Member(
        key=fields.key,
        depends_on=tuple(fields.depends_on or ()),
        definition=definition_of(fields),
        priority=Priority(fields.priority),
        at=_instant(fields.at),
        delay_ms=None if fields.delay is None else milliseconds(fields.delay),
        on_parent_failure=OnParentFailure(fields.on_parent_failure or OnParentFailure.FAIL),
        gates=tuple(fields.gates),
        start_within_seconds=fields.start_within_seconds,
    )


def _instant(at: int | LocalTime | None) -> int | None:
    """Return the time of one job of the graph, which has no zone of its own. Raise InvalidRequest."""
    if isinstance(at, LocalTime):
        raise InvalidRequest(Problem("at", "has no offset from UTC; add Z or ±hh:mm, such as 2030-01-31T09:30:00Z"))
    return at


def _check_names(document: dict[str, Any]) -> None:
    """Raise InvalidRequest for fields that do not belong here or do not go together."""
    problems = [Problem(name, advice) for name, advice in _MISPLACED.items() if name in document]
    problems += choice_problems(document, _ONE_OFF_FIELDS)
    problems += target_choice_problems(document)
    problems += null_problems(NodeFields, document, {"payload"})
    problems += missing_target_problems(document)
    if problems:
        raise InvalidRequest(*problems)
