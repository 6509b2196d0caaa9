"""Make the requests of the API from the arguments of a caller. Nothing here does input or output."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, Unpack
from urllib.parse import quote

from onthedot.client.answers import Execution, FireTime, Job, Workflow, read_answer
from onthedot.client.errors import ClientError, error_of
from onthedot.client.options import (
    ONE_WORK,
    ChangeOptions,
    JobOptions,
    PreviewOptions,
    WorkflowOptions,
    in_json,
    refuse_unknown,
    with_target,
)

if TYPE_CHECKING:
    from onthedot.client.explanations import Explanation

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
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers beside those of every call."""
    repeatable: bool = True
    """Whether the same request again has no second effect."""
    gone_is_done: bool = False
    """Whether a repeated request that finds nothing has had its effect before."""
    also_answers: frozenset[int] = frozenset()
    """Statuses of failures whose document is an answer too."""


def job_request(handler: str | None = None, payload: Any = None, **options: Unpack[JobOptions]) -> dict[str, Any]:
    """Return the fields of a new job as the API takes them, for `batch` and `workflow`.

    Raise TypeError for an option that does not exist, and ValueError for a time without a zone.
    """
    refuse_unknown(options, JobOptions, "job_request")
    fields = with_target(in_json({"handler": handler, **options, "payload": payload}))
    if not fields.keys() & {"target", "callback_url"}:
        raise ValueError(ONE_WORK)
    return fields


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
    return workflow_document({**in_json(options), "jobs": [dict(job) for job in jobs]})


def workflow_document(fields: Mapping[str, Any]) -> Operation[Workflow]:
    """Return the call that starts a workflow whose fields are those of the API."""
    return Operation("POST", "/v1/workflows", _reader(Workflow), body=_with_key(fields))


def get_workflow(workflow_id: str) -> Operation[Workflow]:
    return Operation("GET", f"/v1/workflows/{_part(workflow_id)}", _reader(Workflow))


def get(job_id: str) -> Operation[Job]:
    return Operation("GET", job_path(job_id), _reader(Job))


def change(job_id: str, options: ChangeOptions, if_version: int | None = None) -> Operation[Job]:
    """Return the call that changes a job, if it still has this version. None in the options is the API's null.

    A call with a version is not repeated: the change of its first try would be taken for one of another client. A call
    whose times count from now is not repeated either. Raise TypeError and ValueError as `job_request` does.
    """
    refuse_unknown(options, ChangeOptions, "change")
    fields = with_target(in_json(options, with_nulls=True))
    headers = {} if if_version is None else {"If-Match": f'"{if_version}"'}
    is_repeatable = if_version is None and not _counts_from_now(fields)
    return Operation("PATCH", job_path(job_id), _reader(Job), body=fields, headers=headers, repeatable=is_repeatable)


def _counts_from_now(fields: Mapping[str, Any]) -> bool:
    """Return whether fire times count from the time of the call. An interval counts from `start_at` if there is one."""
    return "delay" in fields or ("every" in fields and fields.get("start_at") is None)


def cancel(job_id: str) -> Operation[Job]:
    return Operation("PUT", f"{job_path(job_id)}/cancel", _reader(Job))


def delete(job_id: str) -> Operation[None]:
    return Operation("DELETE", job_path(job_id), lambda _: None, gone_is_done=True)


def pause(job_id: str) -> Operation[Job]:
    return Operation("POST", f"{job_path(job_id)}/pause", _reader(Job))


def resume(job_id: str) -> Operation[Job]:
    return Operation("POST", f"{job_path(job_id)}/resume", _reader(Job))


def run(job_id: str, payload: Any = None) -> Operation[Execution]:
    """Return the call that runs a job now. It is not repeated, because each one makes a run."""
    body = None if payload is None else {"payload": payload}
    return Operation("POST", f"{job_path(job_id)}/run", _reader(Execution), body=body, repeatable=False)


def explain(job_id: str) -> "Operation[Explanation]":
    return Operation("GET", f"{job_path(job_id)}/explain", _read_explanation)


def execution(execution_id: str) -> Operation[Execution]:
    return Operation("GET", f"/v1/executions/{_part(execution_id)}", _reader(Execution))


@dataclass(frozen=True, slots=True)
class ExecutionPage:
    """One page of executions, and the cursor of the next one."""

    executions: list[Execution]
    cursor: str | None


def executions(
    cursor: str | None, *, job: str | None = None, worker: str | None = None, status: str | None = None
) -> Operation[ExecutionPage]:
    """Return the call that reads one page of the executions of a job or a worker, or of a status."""
    given = {"job_id": job, "worker_id": worker, "status": status, "limit": str(PAGE), "cursor": cursor}
    query = {name: value for name, value in given.items() if value is not None}
    return Operation("GET", "/v1/executions", _read_page, query=query)


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


def _read_explanation(document: Any) -> "Explanation":
    from onthedot.client.explanations import Explanation  # noqa: PLC0415 - the first such answer loads it

    return read_answer(Explanation, document)


def _read_times(document: Any) -> list[FireTime]:
    return [read_answer(FireTime, one) for one in document["fire_times"]]


def job_path(job_id: str) -> str:
    """Return the path of a job. Raise ValueError when the id is empty."""
    return f"/v1/jobs/{_part(job_id)}"


def _part(text: str) -> str:
    """Return a text as one part of a path. Raise ValueError when it is empty, because another path would be called."""
    if not text:
        raise ValueError("the id is empty")
    return quote(text, safe="")


def _with_key(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"idempotency_key": f"client-{os.urandom(16).hex()}", **fields}
