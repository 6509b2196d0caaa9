"""Make the requests of the API from the arguments of a caller. Nothing here does input or output."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Generic, TypedDict, TypeVar, Unpack
from urllib.parse import quote

from onthedot.client.answers import Execution, Explanation, FireTime, Job, Workflow, read_answer
from onthedot.client.errors import ClientError, error_of

Answer = TypeVar("Answer")
Time = datetime | str | int | float
"""An aware datetime, a text as the API takes it, or epoch seconds."""
PAGE: Final = 100
MOST_IN_BATCH: Final = 500
_TIMES: Final = ("at", "start_at", "end_at", "after")


class ScheduleOptions(TypedDict, total=False):
    """The schedule of a recurring job. `docs/schedules.md` describes each field."""

    cron: str
    every: int | timedelta | str
    timezone: str
    dst: Mapping[str, str]
    start_at: Time
    end_at: Time
    jitter_seconds: int


class RecurrenceOptions(ScheduleOptions, total=False):
    """A schedule with the policies of its job."""

    max_runs: int
    misfire: Mapping[str, Any]
    overlap: str


class WorkflowOptions(RecurrenceOptions, total=False):
    """The options of a workflow. `docs/workflows.md` describes each field."""

    name: str
    description: str
    tags: Mapping[str, str]
    at: Time
    delay: float | timedelta
    priority: str
    idempotency_key: str


class JobOptions(WorkflowOptions, total=False):
    """The options of a job. `docs/jobs.md` describes each field."""

    url: str
    """The URL that an HTTP job calls."""
    method: str
    """The method of an HTTP job."""
    headers: Mapping[str, str]
    """The headers of an HTTP job."""
    target: Mapping[str, Any]
    on_event: Mapping[str, Any]
    retry: int | Mapping[str, Any]
    """The number of retries, or the whole policy."""
    timeout_seconds: int
    requirements: Mapping[str, Any]
    gates: Sequence[str]
    start_within_seconds: int
    dependencies: Sequence[str]
    on_parent_failure: str
    key: str
    """The key of a job in its workflow."""
    depends_on: Sequence[str]
    """The keys of the jobs of the workflow that must end before this one runs."""


class PreviewOptions(ScheduleOptions, total=False):
    """The schedule to preview."""

    count: int
    after: Time


@dataclass(frozen=True, slots=True)
class Operation(Generic[Answer]):
    """One call of the API, and how to read its answer."""

    method: str
    path: str
    read: Callable[[Any], Answer]
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    repeatable: bool = True
    """Whether the same request again has no second effect."""
    gone_is_done: bool = False
    """Whether a repeated request that finds nothing has had its effect before."""


def job_request(handler: str | None = None, payload: Any = None, **options: Unpack[JobOptions]) -> dict[str, Any]:
    """Return the fields of a new job as the API takes them, for `batch` and `workflow`.

    Raise TypeError for an option that does not exist, and ValueError for a time without a zone.
    """
    _refuse_unknown(options, JobOptions, "job_request")
    fields = _in_json(options)
    url, target = fields.pop("url", None), fields.pop("target", None)
    http = {name: fields.pop(name) for name in ("method", "headers") if name in fields}
    if sum(one is not None for one in (handler, url, target)) != 1:
        raise ValueError("say what the job runs: a handler, url= or target=, and only one of them")
    if http and url is None:
        raise ValueError("method= and headers= work only with url=")
    if handler is not None:
        fields["target"] = {"type": "python", "handler": handler}
    elif http:
        fields["target"] = {"type": "http", "url": url, **http}
    elif url is not None:
        fields["callback_url"] = url
    else:
        fields["target"] = target
    return fields if payload is None else {**fields, "payload": payload}


def schedule(fields: Mapping[str, Any]) -> Operation[Job]:
    """Return the call that schedules a job. Every retry of it carries the same idempotency key."""
    return Operation("POST", "/v1/jobs", _reader(Job), body=_with_key(fields))


def batches(jobs: Iterable[Mapping[str, Any]]) -> list[Operation[list[Job | ClientError]]]:
    """Return the calls that schedule many jobs, as many in each as the API takes."""
    keyed = [_with_key(fields) for fields in jobs]
    parts = [keyed[first : first + MOST_IN_BATCH] for first in range(0, len(keyed), MOST_IN_BATCH)]
    return [Operation("POST", "/v1/jobs/batch", _read_batch, body={"jobs": part}) for part in parts]


def workflow(jobs: Sequence[Mapping[str, Any]], options: WorkflowOptions) -> Operation[Workflow]:
    """Return the call that starts a workflow."""
    _refuse_unknown(options, WorkflowOptions, "workflow")
    body = _with_key({**_in_json(options), "jobs": [dict(job) for job in jobs]})
    return Operation("POST", "/v1/workflows", _reader(Workflow), body=body)


def get_workflow(workflow_id: str) -> Operation[Workflow]:
    return Operation("GET", f"/v1/workflows/{_part(workflow_id)}", _reader(Workflow))


def get(job_id: str) -> Operation[Job]:
    return Operation("GET", _job(job_id), _reader(Job))


def cancel(job_id: str) -> Operation[Job]:
    return Operation("PUT", f"{_job(job_id)}/cancel", _reader(Job))


def delete(job_id: str) -> Operation[None]:
    return Operation("DELETE", _job(job_id), lambda _: None, gone_is_done=True)


def pause(job_id: str) -> Operation[Job]:
    return Operation("POST", f"{_job(job_id)}/pause", _reader(Job))


def resume(job_id: str) -> Operation[Job]:
    return Operation("POST", f"{_job(job_id)}/resume", _reader(Job))


def run(job_id: str) -> Operation[Execution]:
    """Return the call that runs a job now. It is not repeated, because each one makes a run."""
    return Operation("POST", f"{_job(job_id)}/run", _reader(Execution), repeatable=False)


def explain(job_id: str) -> Operation[Explanation]:
    return Operation("GET", f"{_job(job_id)}/explain", _reader(Explanation))


def execution(execution_id: str) -> Operation[Execution]:
    return Operation("GET", f"/v1/executions/{_part(execution_id)}", _reader(Execution))


@dataclass(frozen=True, slots=True)
class ExecutionPage:
    """One page of executions, and the cursor of the next one."""

    executions: list[Execution]
    cursor: str | None


def executions(job_id: str, cursor: str | None) -> Operation[ExecutionPage]:
    """Return the call that reads one page of a job's executions."""
    query = {"limit": str(PAGE)} | ({} if cursor is None else {"cursor": cursor})
    return Operation("GET", f"{_job(job_id)}/executions", _read_page, query=query)


def preview(options: PreviewOptions) -> Operation[list[FireTime]]:
    _refuse_unknown(options, PreviewOptions, "preview")
    return Operation("POST", "/v1/schedules/preview", _read_times, body=_in_json(options))


def _reader(kind: type[Answer]) -> Callable[[Any], Answer]:
    return lambda document: read_answer(kind, document)


def _read_batch(document: Any) -> list[Job | ClientError]:
    return [error_of(422, one, None) if "error" in one else read_answer(Job, one) for one in document["jobs"]]


def _read_page(document: Any) -> ExecutionPage:
    found = [read_answer(Execution, one) for one in document["executions"]]
    return ExecutionPage(found, document.get("next_cursor"))


def _read_times(document: Any) -> list[FireTime]:
    return [read_answer(FireTime, one) for one in document["fire_times"]]


def _job(job_id: str) -> str:
    return f"/v1/jobs/{_part(job_id)}"


def _part(text: str) -> str:
    """Return a text as one part of a path. Raise ValueError when it is empty, because another path would be called."""
    if not text:
        raise ValueError("the id is empty")
    return quote(text, safe="")


def _with_key(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"idempotency_key": f"client-{os.urandom(16).hex()}", **fields}


def _refuse_unknown(options: Mapping[str, Any], kind: Any, function: str) -> None:
    known: Iterable[str] = kind.__annotations__
    for name in options:
        if name not in known:
            from difflib import get_close_matches  # noqa: PLC0415 - only for this message

            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{function}() got an unexpected option {name!r}{hint}")


def _in_json(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options as JSON values. None is the same as leaving an option out."""
    zone = options.get("timezone")
    return {name: _value(name, value, zone) for name, value in options.items() if value is not None}


def _value(name: str, value: Any, zone: str | None) -> Any:
    if name in _TIMES and isinstance(value, datetime):
        if value.tzinfo is None and zone is None:
            raise ValueError(f"{name} has no time zone; give an aware datetime, such as datetime.now(UTC)")
        return value.isoformat()
    if isinstance(value, timedelta):
        return _seconds(name, value)
    if name == "retry" and isinstance(value, int):
        return {"max_retries": value}
    return value


def _seconds(name: str, value: timedelta) -> float:
    seconds = value.total_seconds()
    if name != "every":
        return seconds
    if not seconds.is_integer():
        raise ValueError(f"{name} must be whole seconds")
    return int(seconds)
