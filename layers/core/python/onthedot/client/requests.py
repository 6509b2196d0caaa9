"""Make the requests of the API from the arguments of a caller. Nothing here does input or output."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar, Unpack
from urllib.parse import quote

from onthedot.client.answers import Execution, Explanation, FireTime, Job, Workflow, read_answer
from onthedot.client.errors import ClientError, error_of
from onthedot.client.options import JobOptions, PreviewOptions, WorkflowOptions, in_json, refuse_unknown

Answer = TypeVar("Answer")
PAGE: Final = 100
MOST_IN_BATCH: Final = 500


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
    refuse_unknown(options, JobOptions, "job_request")
    fields = in_json(options)
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
    refuse_unknown(options, WorkflowOptions, "workflow")
    body = _with_key({**in_json(options), "jobs": [dict(job) for job in jobs]})
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
    refuse_unknown(options, PreviewOptions, "preview")
    return Operation("POST", "/v1/schedules/preview", _read_times, body=in_json(options))


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
