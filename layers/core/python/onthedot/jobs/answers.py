"""The answers about jobs: their types, and how they are made. Secrets in targets are masked."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Final, NotRequired

from pydantic import Field

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict

from onthedot.api.errors import ErrorView, response_to
from onthedot.api.times import show_time
from onthedot.core.choices import OnParentFailure
from onthedot.core.clock import format_instant
from onthedot.core.records import STAMPING, Definition, Kind, Record
from onthedot.core.traces import trace_id_of
from onthedot.jobs.change_log import ChangeNote, changes_of
from onthedot.jobs.contents import ShownPayload, ShownResult
from onthedot.jobs.executions_views import (
    OutcomeView,
    last_outcome_view,
    lateness_ms,
    outcome_words,
    reason_of,
    retries,
)
from onthedot.jobs.explain_job import Explanation
from onthedot.jobs.list_runs import Outlook
from onthedot.jobs.shapes import shape, shown
from onthedot.jobs.shown import runs_so_far, shown_status
from onthedot.jobs.spec import BY_NAME, Stored, stored_in
from onthedot.schedules.fields import told
from onthedot.targets.fields import target_view


class AcceptedView(TypedDict):
    """A job as it was accepted. `fire_time` of a recurring job is its next one."""

    job_id: str
    status: str
    version: int
    name: Annotated[str | None, Field(description=BY_NAME["name"].meaning)]
    priority: Annotated[str, Field(description=BY_NAME["priority"].meaning)]
    pool: str
    created_at: str
    fire_time: str | None
    next_fire_time: str | None


class ChangeView(TypedDict):
    """A change that a client made to a job. `by` is the name of its token, `fields` are those of a PATCH request."""

    at: str
    by: str | None
    action: str
    fields: list[str]
    version: int


_DEFINED: Final = [field.name for field in stored_in(Stored.DEFINITION)]
_RECORDED: Final = [field.name for field in stored_in(Stored.RECORD)]
RECURRENCE_VIEW: Final = {
    **shown(stored_in(Stored.RECURRENCE), always=False),
    "runs": NotRequired[Annotated[int, Field(description="counts the runs whose time has come")]],
}
JobView: Final = shape(
    "JobView",
    """A whole job. Secrets in its target are masked.

    `payload_url` links to a large payload and `result_url` to a long result, both for 15 minutes. `lateness_ms` and
    `retry_count` are of the latest run that started, `last_outcome` is the latest run that ended. `finished_at` of a
    recurring job is the end of its last run. `changes` has the latest 20, the newest first.
    """,
    {
        **AcceptedView.__annotations__,
        **RECURRENCE_VIEW,
        **shown([BY_NAME["on_event"]], always=False),
        "outcomes": NotRequired[list[str]],
        **shown([*stored_in(Stored.DEFINITION), *stored_in(Stored.RECORD), BY_NAME["target"], BY_NAME["payload"]]),
        "payload_url": str | None,
        "retry_count": int,
        "last_run": str | None,
        "finished_at": str | None,
        "last_outcome": OutcomeView | None,
        "lateness_ms": int | None,
        "reason": str | None,
        "result": str | None,
        "result_url": str | None,
        "dependencies": list[str],
        "on_parent_failure": str | None,
        "trace_id": str,
        "workflow_id": str | None,
        "key": str | None,
        "changes": list[ChangeView],
    },
    closed=False,
)


class BatchView(TypedDict):
    """The jobs of a batch in the order of the request, each accepted or refused."""

    jobs: list[AcceptedView | ErrorView]


class StatusView(TypedDict):
    """The status of a job, and the times of its last and next run.

    `reason` says why the job has its status, or else why its latest run has its own.
    """

    job_id: str
    status: str
    last_run: str | None
    next_run: str | None
    retry_count: int
    reason: str | None


class DeletedView(TypedDict):
    """The answer to a delete: the job is deleted."""

    deleted: bool


class BackfilledView(TypedDict):
    """The outcome of a backfill.

    `existing` counts fire times that had an execution already. `left` counts fire times of the window that still have
    none. Call again with `next_from`, the first of them, as `from`.
    """

    created: int
    existing: int
    left: int
    next_from: str | None
    executions: list[str]


class ReasonView(TypedDict):
    """One reason. `code` is meant for programs, `message` for people."""

    code: str
    message: str


class MomentView(TypedDict):
    """A moment in the history of a run."""

    time: str
    message: str


class WhatIfView(TypedDict):
    """An action and its effect if it were done now. `action` is meant for programs, `message` for people."""

    action: str
    message: str


class ExplanationView(TypedDict):
    """The reasons why a job has not run, or what it is doing.

    `timeline` is the history of its latest run, the oldest moment first, up to 30. `what_if` says what actions would
    do.
    """

    job_id: str
    name: str | None
    status: str
    reasons: list[ReasonView]
    timeline: list[MomentView]
    what_if: list[WhatIfView]


_MAYBE_STORED: Final = "may be stored or not; send it again, with the same idempotency_key if it has one"


def accepted_view(job: Record, next_at: int | None) -> AcceptedView:
    fire_time = next_at if job.kind in STAMPING else job.fire_time
    return {
        "job_id": job.job_id,
        "status": shown_status(job, next_at),
        "version": job.version or 1,
        "name": None if job.definition is None else job.definition.name,
        "priority": job.priority.value,
        "pool": job.pool,
        "created_at": format_instant(job.created_at),
        "fire_time": show_time(fire_time),
        "next_fire_time": show_time(next_at),
    }


def status_view(job: Record, outlook: Outlook) -> StatusView:
    return {
        "job_id": job.job_id,
        "status": shown_status(job, outlook.next_at),
        "last_run": _last_run(outlook),
        "next_run": show_time(outlook.next_at),
        "retry_count": 0 if outlook.latest is None else retries(outlook.latest),
        "reason": reason_of(job) or (None if outlook.latest is None else reason_of(outlook.latest)),
    }


def recurrence_view(job: Record, now: int) -> dict[str, Any]:
    """Return nothing for other jobs."""
    if job.recurrence is None:
        return {}
    return {**_in_json(told(job.recurrence)), "runs": runs_so_far(job, now)}


def job_view(  # noqa: PLR0917
    job: Record, definition: Definition, outlook: Outlook, payload: ShownPayload, result: ShownResult, now: int
) -> dict[str, Any]:
    return {
        **accepted_view(job, outlook.next_at),
        **recurrence_view(job, now),
        **({} if job.pattern is None else {"on_event": json.loads(job.pattern)}),
        **({"outcomes": outcome_words(outlook.ended)} if job.kind in STAMPING else {}),
        **_in_json({name: getattr(definition, name) for name in _DEFINED}),
        **_in_json({name: getattr(job, name) for name in _RECORDED}),
        "target": target_view(definition.target),
        "payload": payload.value,
        "payload_url": payload.link,
        "retry_count": 0 if outlook.latest is None else retries(outlook.latest),
        "last_run": _last_run(outlook),
        "finished_at": show_time(outlook.finished_at),
        "last_outcome": last_outcome_view(outlook.ended),
        "lateness_ms": None if outlook.latest is None else lateness_ms(outlook.latest),
        "reason": reason_of(job),
        "result": result.text,
        "result_url": result.link,
        "dependencies": list(job.parents),
        "on_parent_failure": (job.on_parent_failure or OnParentFailure.FAIL.value) if job.parents else None,
        "trace_id": trace_id_of(job.run_id, job.trace),
        "workflow_id": job.workflow,
        "key": job.key,
        "changes": [_change(note) for note in changes_of(job)],
    }


def _in_json(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: None if value is None else BY_NAME[name].form.show(value) for name, value in values.items()}


def _change(note: ChangeNote) -> ChangeView:
    return {
        "at": format_instant(note.at),
        "by": note.by,
        "action": note.action.value,
        "fields": list(note.fields),
        "version": note.version,
    }


def explanation_view(found: Explanation, next_at: int | None) -> ExplanationView:
    # A job that cannot be read has its status as it is stored.
    job = found.job
    return {
        "job_id": job.run_id,
        "name": job.definition.name if isinstance(job, Record) and job.definition is not None else None,
        "status": shown_status(job, next_at) if isinstance(job, Record) else job.status or "",
        "reasons": [{"code": one.code, "message": one.message} for one in found.reasons],
        "timeline": [{"time": format_instant(one.time), "message": one.message} for one in found.timeline],
        "what_if": [{"action": one.action, "message": one.message} for one in found.what_if],
    }


def refused_view(error: Exception) -> ErrorView:
    """Answer as a call of its own would. Raise an unexpected error."""
    response = response_to(error)
    if response is None:
        raise error
    view: ErrorView = response.body
    if response.status == 503:
        view["error"]["message"] = _MAYBE_STORED
    return view


def _last_run(outlook: Outlook) -> str | None:
    """Return the time when it started or, if it ended without a start, when it ended."""
    run = outlook.latest
    if run is None or (run.started_at is None and run.kind is not Kind.STAMPED):
        return None
    return show_time(run.finished_at if run.started_at is None else run.started_at)
