"""The body of `POST /v1/workflows`: every job is read like one of its own, and the graph as a whole."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from onthedot.api.core.body import MAX_DEPTH, read_object
from onthedot.api.core.errors import ApiError
from onthedot.api.core.fields import Instant, Text
from onthedot.api.core.reading import nulls, read_model
from onthedot.api.core.times import milliseconds
from onthedot.api.jobs.batches import MAX_BATCH_BODY
from onthedot.api.jobs.fields import Delay, IdempotencyKey, PriorityName, Tags, WorkFields
from onthedot.api.jobs.requests import check_payload, check_target, definition_of, fingerprint_of, one_key
from onthedot.api.schedules.fields import OF_CRON, OF_RECURRING, RULES, RecurrenceFields, one_of, out_of_place
from onthedot.api.schedules.recurrences import new_recurrence
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.runs.dependencies import OnParentFailure
from onthedot.domain.runs.records import Definition, Priority
from onthedot.domain.targets.types import WorkflowTarget
from onthedot.domain.workflows.graph import MAX_JOBS, Node, check
from onthedot.use_cases.jobs.submit_job import JobRequest
from onthedot.use_cases.workflows.workflow_graph import Member

MAX_BODY: Final = MAX_BATCH_BODY
_LEVELS_ABOVE: Final = 2
_KEY: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)
_ONCE: Final = ("at", "delay")
_WHENS: Final = (*_ONCE, *RULES)
_WHERES: Final = ("target", "callback_url")
_NOT_HERE: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (*RULES, *OF_CRON, *OF_RECURRING), "is for the whole workflow, not for one of its jobs; give it beside jobs"
    ),
    "on_event": "is not for jobs of a workflow; remove it",
    "dependencies": "names jobs by id; name jobs of the workflow by key in depends_on",
    "idempotency_key": "is for the whole workflow, not for one of its jobs; give it beside jobs",
}


def _key(text: str) -> str:
    if not _KEY.fullmatch(text):
        raise ValueError("is no key; give 1 to 64 of A-Z, a-z, 0-9, _, . and -")
    return text


class NodeFields(WorkFields):
    """A job of the workflow. At most one of `at` and `delay`: its own time, beside the end of those it waits for."""

    key: Annotated[str, AfterValidator(_key)]
    depends_on: Annotated[
        list[str] | None, Field(max_length=MAX_JOBS, description="keys of the jobs whose end it waits for")
    ] = None


class WorkflowFields(RecurrenceFields):
    """All or nothing. At most one of `at`, `delay`, `cron` and `every`; none: now. Each time makes a new graph."""

    name: Text | None = None
    tags: Tags = Field(default_factory=dict)
    at: Annotated[Instant | None, Field(description="RFC 3339 with offset, or epoch seconds")] = None
    delay: Annotated[Delay | None, Field(description="seconds from now")] = None
    priority: Annotated[PriorityName, Field(description="of making the graph; each job has its own")] = "MEDIUM"
    idempotency_key: IdempotencyKey | None = None
    jobs: Annotated[list[NodeFields], Field(min_length=1, max_length=MAX_JOBS)]


class _HeadFields(WorkflowFields):
    """The workflow without looking into its jobs: those are read one by one."""

    jobs: list[Any]


def read_workflow_request(body: bytes, header_key: str | None, now: int) -> tuple[JobRequest, list[Member]]:
    """Everything about the request but whether its times lie in the window: see `check_node_times`.

    Raises ApiError (not JSON, too large) and InvalidRequest.
    """
    document = read_object(body, MAX_BODY, MAX_DEPTH + _LEVELS_ABOVE)
    problems = [*one_of(document, _WHENS), *out_of_place(document), *nulls(WorkflowFields, document, frozenset())]
    if problems:
        raise InvalidRequest(*problems)
    fields = read_model(_HeadFields, document)
    request = JobRequest(
        definition=Definition(WorkflowTarget(), name=fields.name, tags=fields.tags),
        fingerprint=fingerprint_of(document),
        priority=Priority(fields.priority),
        recurrence=new_recurrence(fields, now),
        at=fields.at,
        delay_ms=None if fields.delay is None else milliseconds(fields.delay),
        idempotency_key=one_key(fields.idempotency_key, header_key),
    )
    return request, _members(fields.jobs)


def _members(entries: Sequence[Any]) -> list[Member]:
    """Raises ApiError and InvalidRequest; what is wrong with the graph is told only of jobs that can be read."""
    if not entries or len(entries) > MAX_JOBS:
        raise InvalidRequest(*check([Node("")] * len(entries)))
    members: list[Member] = []
    problems: list[Problem] = []
    for number, entry in enumerate(entries):
        try:
            members.append(_member(entry, number))
        except InvalidRequest as error:
            problems += [Problem(_named(number, one.field), one.message) for one in error.problems]
    if not problems:
        problems = check([Node(member.key, member.depends_on) for member in members])
    if problems:
        raise InvalidRequest(*problems)
    return members


def _named(number: int, field: str) -> str:
    return f"jobs.{number}.{field}" if field and field != "body" else f"jobs.{number}"


def _member(entry: Any, number: int) -> Member:
    if not isinstance(entry, dict):
        raise InvalidRequest(Problem("body", "is not an object; send {…} with the job's fields"))
    _check_whole(entry)
    fields = read_model(NodeFields, entry)
    try:
        check_payload(fields.payload)
    except ApiError as error:
        named = [Problem(_named(number, one.field), one.message) for one in error.problems]
        raise ApiError(error.status, error.code, f"jobs.{number}.{error.message}", named) from error
    if fields.on_parent_failure is not None and not fields.depends_on:
        raise InvalidRequest(Problem("on_parent_failure", "works only with depends_on; add some or remove it"))
    return Member(
        key=fields.key,
        depends_on=tuple(fields.depends_on or ()),
        definition=definition_of(fields),
        priority=Priority(fields.priority),
        at=fields.at,
        delay_ms=None if fields.delay is None else milliseconds(fields.delay),
        on_parent_failure=OnParentFailure(fields.on_parent_failure or OnParentFailure.FAIL),
    )


def _check_whole(document: dict[str, Any]) -> None:
    problems = [Problem(name, advice) for name, advice in _NOT_HERE.items() if name in document]
    problems += [*one_of(document, _ONCE), *check_target(document), *nulls(NodeFields, document, {"payload"})]
    if not any(name in document for name in _WHERES):
        problems.append(Problem("target", "is missing; give target or callback_url"))
    if problems:
        raise InvalidRequest(*problems)
