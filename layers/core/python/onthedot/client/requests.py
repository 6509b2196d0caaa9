"""The calls of the API, each said once: its path, its query or body, and how its answer is read. Nothing here calls.

Both clients and the commands make these calls. The fields of options and answers are in `options` and `answers`.
"""

import os
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar, Unpack
from urllib.parse import quote

from onthedot.client import answers
from onthedot.client.answers import Execution, Job, Workflow
from onthedot.client.errors import AmbiguousName, ClientError, InvalidRequest, NotFound, Problem, error_of
from onthedot.client.options import (
    DEAD_LETTER_NAMES,
    ChangeOptions,
    DeadLetterOptions,
    JobFilter,
    JobOptions,
    PreviewOptions,
    Time,
    WorkflowOptions,
)
from onthedot.client.values import Answer as Value
from onthedot.client.values import read_answer

Answer = TypeVar("Answer")
Read: TypeAlias = Callable[[Any], Answer]
PAGE: Final = 100
MOST_IN_BATCH: Final = 500
LATE: Final = 503
"""The status of the answer of a scheduler whose ticks are late."""


class Retries(NamedTuple):
    """How often a call is tried, and the pauses between in seconds."""

    tries: int = 4
    first: float = 0.25
    most: float = 4.0
    """The pauses double from `first` to `most`."""
    longest: float = 30.0
    """A longer `Retry-After` is not waited for: the caller gets the error, with the time in it."""
    failures: bool = False
    """Whether a failure inside the API is tried again too."""


class Operation(NamedTuple, Generic[Answer]):
    """One call of the API, and how to read its answer."""

    method: str
    path: str
    read: Read[Answer]
    query: Mapping[str, str] = {}
    body: Any = None
    """A value that is sent as JSON, or bytes that are sent as they are."""
    headers: Mapping[str, str] = {}
    """Headers in addition to those of every call."""
    repeatable: bool = True
    """Whether the same request again has no second effect."""
    gone_is_done: bool = False
    """Whether a repeated request that finds nothing has had its effect before."""
    also_answers: frozenset[int] = frozenset()
    """Statuses of failures whose document is an answer too."""
    retries: Retries | None = None
    """None: the caller's."""


class Page(NamedTuple, Generic[Answer]):
    """A part of a list, and the cursor of the next one. A page may be empty and have a next one."""

    entries: list[Answer]
    cursor: str | None


# Jobs


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
    """Every retry carries the same idempotency key."""
    return Operation("POST", "/v1/jobs", _one(Job), body=_with_key(fields))


def batches(jobs: Iterable[Mapping[str, Any]]) -> list[Operation[list[Job | ClientError]]]:
    keyed = [_with_key(fields) for fields in jobs]
    parts = [keyed[first : first + MOST_IN_BATCH] for first in range(0, len(keyed), MOST_IN_BATCH)]
    return [Operation("POST", "/v1/jobs/batch", _read_batch, body={"jobs": part}) for part in parts]


def get(job_id: str) -> Operation[Job]:
    return Operation("GET", _path("jobs", job_id), _one(Job))


def change(job_id: str, options: ChangeOptions, if_version: int | None = None) -> Operation[Job]:
    """Return the call that changes a job, if it still has this version. None in the options is the API's null.

    A call with a version is not repeated: the change of its first try would be mistaken for another client's. A call
    whose times count from now is not repeated either. Raise TypeError and ValueError as `job_request` does.
    """
    refuse_unknown(options, ChangeOptions, "change")
    fields = with_target(in_json(options, with_nulls=True))
    headers = {} if if_version is None else {"If-Match": f'"{if_version}"'}
    counts_from_now = "delay" in fields or ("every" in fields and fields.get("start_at") is None)
    may_repeat = if_version is None and not counts_from_now
    return Operation("PATCH", _path("jobs", job_id), _one(Job), body=fields, headers=headers, repeatable=may_repeat)


def cancel(job_id: str) -> Operation[Job]:
    return Operation("PUT", _path("jobs", job_id, "cancel"), _one(Job))


def delete(job_id: str) -> Operation[None]:
    return Operation("DELETE", _path("jobs", job_id), _nothing, gone_is_done=True)


def pause(job_id: str) -> Operation[Job]:
    return Operation("POST", _path("jobs", job_id, "pause"), _one(Job))


def resume(job_id: str) -> Operation[Job]:
    return Operation("POST", _path("jobs", job_id, "resume"), _one(Job))


def run(job_id: str, payload: Any = None) -> Operation[Execution]:
    """Run a job now. It is not repeated, because each call makes a run."""
    body = None if payload is None else {"payload": payload}
    return Operation("POST", _path("jobs", job_id, "run"), _one(Execution), body=body, repeatable=False)


def explain(job_id: str) -> Operation[answers.Explanation]:
    return Operation("GET", _path("jobs", job_id, "explain"), _one(answers.Explanation))


def backfill(job_id: str, start: Time, end: Time, limit: int, priority: str) -> Operation[answers.Backfilled]:
    """Run a job for past fire times. A repeated call finds the same runs."""
    body = {**in_json({"from": start, "to": end}), "limit": limit, "priority": priority}
    return Operation("POST", _path("jobs", job_id, "backfill"), _one(answers.Backfilled), body=body)


def list_jobs(filters: JobFilter, cursor: str | None = None, limit: int = PAGE) -> Operation[Page[answers.ListedJob]]:
    """Raise TypeError for a filter that does not exist."""
    refuse_unknown(filters, JobFilter, "list")
    query = _query({**filters, "limit": limit, "cursor": cursor})
    return Operation("GET", "/v1/jobs", _page(answers.ListedJob, "jobs"), query=query)


def bulk(
    action: str,
    filters: JobFilter | None = None,
    ids: Sequence[str] | None = None,
    *,
    dry_run: bool = False,
    cursor: str | None = None,
) -> Operation[Page[answers.BulkStep]]:
    """Return the call that acts on some of many jobs. A call that runs jobs is not repeated: it would run them again.

    Raise TypeError for a filter that does not exist.
    """
    refuse_unknown(filters or {}, JobFilter, "bulk")
    chosen = _given({"ids": None if ids is None else list(ids), "filter": _given(filters or {}) or None})
    body = {"action": action, **chosen, "dry_run": dry_run, **_given({"cursor": cursor})}
    return Operation("POST", "/v1/jobs/bulk", _read_step, body=body, repeatable=dry_run or action != "run")


# Executions and dead letters


def execution(execution_id: str) -> Operation[Execution]:
    return Operation("GET", _path("executions", execution_id), _one(Execution))


def executions(
    cursor: str | None, *, job: str | None = None, worker: str | None = None, status: str | None = None
) -> Operation[Page[Execution]]:
    query = _query({"job_id": job, "worker_id": worker, "status": status, "limit": PAGE, "cursor": cursor})
    return Operation("GET", "/v1/executions", _page(Execution, "executions"), query=query)


def dead_letters(cursor: str | None, options: DeadLetterOptions | None = None) -> Operation[Page[Execution]]:
    query = _query({**_dead_letter_filters(options), "limit": PAGE, "cursor": cursor})
    return Operation("GET", "/v1/dead-letters", _page(Execution, "dead_letters"), query=query)


def dead_letter_causes(limit: int, options: DeadLetterOptions | None = None) -> Operation[answers.Causes]:
    query = _query({**_dead_letter_filters(options), "by": "cause", "limit": limit})
    return Operation("GET", "/v1/dead-letters", _one(answers.Causes), query=query)


def redrive(
    ids: Sequence[str] | None,
    options: DeadLetterOptions | None = None,
    *,
    everything: bool = False,
    dry_run: bool = False,
    cursor: str | None = None,
) -> Operation[answers.Redriven]:
    """Return the call that runs dead letters again. It is not repeated, because its answer counts what it did.

    Raise InvalidRequest when nothing says which ones.
    """
    named = _given({"ids": None if ids is None else list(ids), "all": everything or None})
    chosen = {**named, **_dead_letter_filters(options)}
    if not chosen:
        why = "say which dead letters run again: ids, or filters, or everything=True"
        raise InvalidRequest(f"ids: {why}", code="invalid_request", details=[Problem("ids", why)])
    body = {**chosen, **_given({"dry_run": dry_run or None, "cursor": cursor})}
    return Operation("POST", "/v1/dead-letters/redrive", _one(answers.Redriven), body=body, repeatable=dry_run)


# Schedules and workflows


def preview(options: PreviewOptions) -> Operation[list[answers.FireTime]]:
    refuse_unknown(options, PreviewOptions, "preview")
    return Operation("POST", "/v1/schedules/preview", _many(answers.FireTime, "fire_times"), body=in_json(options))


def forecast(minutes: int) -> Operation[answers.Forecast]:
    return Operation("GET", "/v1/forecast", _one(answers.Forecast), query={"minutes": str(minutes)})


def workflow(jobs: Sequence[Mapping[str, Any]], options: WorkflowOptions) -> Operation[Workflow]:
    refuse_unknown(options, WorkflowOptions, "workflow")
    return workflow_document({**in_json(options), "jobs": [dict(job) for job in jobs]})


def workflow_document(fields: Mapping[str, Any]) -> Operation[Workflow]:
    return Operation("POST", "/v1/workflows", _one(Workflow), body=_with_key(fields))


def get_workflow(workflow_id: str) -> Operation[Workflow]:
    return Operation("GET", _path("workflows", workflow_id), _one(Workflow))


# The stage and its gates


def workers(status: str | None) -> Operation[list[answers.Worker]]:
    return Operation("GET", "/v1/workers", _many(answers.Worker, "workers"), query=_query({"status": status}))


def queues() -> Operation[list[answers.Queue]]:
    return Operation("GET", "/v1/queues", _many(answers.Queue, "queues"))


def overview() -> Operation[answers.Overview]:
    return Operation("GET", "/v1/overview", _one(answers.Overview))


def statistics(
    start: Time | None, end: Time | None, step: int | None, priority: str | None
) -> Operation[answers.Statistics]:
    """Let the API choose a value for None."""
    query = _query({**in_json({"from": start, "to": end}), "step": step, "priority": priority})
    return Operation("GET", "/v1/statistics", _one(answers.Statistics), query=query)


def health() -> Operation[answers.Health]:
    return Operation("GET", "/v1/health", _one(answers.Health), also_answers=frozenset({LATE}))


def gates(cursor: str | None) -> Operation[Page[answers.Gate]]:
    return Operation("GET", "/v1/gates", _page(answers.Gate, "gates"), query=_query({"limit": PAGE, "cursor": cursor}))


def gate(name: str) -> Operation[answers.Gate]:
    return Operation("GET", _path("gates", name), _one(answers.Gate))


def set_gate(
    name: str, in_flight: int | None, per_second: float | None, burst: int | None, *, paused: bool
) -> Operation[answers.Gate]:
    body = {"in_flight": in_flight, "per_second": per_second, "burst": burst, "paused": paused}
    return Operation("PUT", _path("gates", name), _one(answers.Gate), body=body)


def delete_gate(name: str) -> Operation[None]:
    return Operation("DELETE", _path("gates", name), _nothing, gone_is_done=True)


# Jobs by their names

Entries: TypeAlias = list[dict[str, Any]]
Search: TypeAlias = Generator[Operation[Any], Any, Entries]
"""Yields calls, is sent the document that answers each, and returns the entries of jobs that it has found."""
APART: Final = ("recurring", "event")
"""The kinds of jobs that are found among millions of one-off jobs."""
_MOST_PAGES: Final = 20
"""Pages of each kind that are read for one name. A page looks at up to 5,000 jobs."""


def is_id(text: str) -> bool:
    """Return whether the text has the shape of an id. Then it is taken for one, without a call."""
    return re.fullmatch(r"job_[a-z0-9]+(?:\..+)?", text) is not None


def jobs_named(name: str) -> Search:
    """Search the jobs with this name: the recurring and event jobs, else the newest others."""
    found: Entries = []
    for kind in APART:
        found += yield from _with_name(name, kind, _MOST_PAGES)
    return found or (yield from _with_name(name, "one-off", 1))


def _with_name(name: str, kind: str, pages: int) -> Search:
    found: Entries = []
    cursor: str | None = None
    for _ in range(pages):
        document = yield list_jobs({"kind": kind, "full_name": name}, cursor)._replace(read=as_it_is)
        found += document["jobs"]
        cursor = document.get("next_cursor")
        if cursor is None:
            break
    return found


def only_id(name: str, jobs: Sequence[dict[str, Any]]) -> str:
    """Return the id of the only job that was found. Raise NotFound or AmbiguousName."""
    if not jobs:
        raise NotFound(f"there is no job {name!r}", code="not_found")
    if len(jobs) > 1:
        ids = ", ".join(str(job["job_id"]) for job in jobs[:3])
        raise AmbiguousName(f"{len(jobs):,} jobs are called {name!r}; give the id of one: {ids}")
    return str(jobs[0]["job_id"])


# Options as a caller gives them, and as the API takes them

_WORK: Final = ("handler", "url", "target")
_OF_HTTP: Final = ("method", "headers")
ONE_WORK: Final = "say what the job runs: a handler, url= or target=, and only one of them"


def refuse_unknown(options: Mapping[str, Any], kind: Any, function: str) -> None:
    """Raise TypeError for an option that the TypedDict `kind` does not have, as Python does for named parameters."""
    known: Iterable[str] = kind.__annotations__
    for name in options:
        if name not in known:
            from difflib import get_close_matches  # noqa: PLC0415 - only for this message

            near = get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{function}() got an unexpected option {name!r}{hint}")


def in_json(options: Mapping[str, Any], *, with_nulls: bool = False) -> dict[str, Any]:
    """Return the options as JSON values. None is the same as leaving an option out, unless nulls have a meaning."""
    zone = options.get("timezone")
    given = options if with_nulls else _given(options)
    return {name: value if name == "payload" else _value(name, value, zone) for name, value in given.items()}


def _value(name: str, value: Any, zone: str | None) -> Any:
    if isinstance(value, datetime):
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


def with_target(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields with the work of the job as the API takes it. Raise ValueError when there are several works."""
    fields = {name: value for name, value in given.items() if name not in (*_WORK, *_OF_HTTP)}
    http = {name: given[name] for name in _OF_HTTP if name in given}
    work = [name for name in _WORK if name in given]
    if len(work) > 1:
        raise ValueError(ONE_WORK)
    if http and work != ["url"]:
        raise ValueError("method= and headers= work only with url=")
    if "handler" in given:
        return {**fields, "target": {"type": "python", "handler": given["handler"]}}
    if http:
        return {**fields, "target": {"type": "http", "url": given["url"], **http}}
    if "url" in given:
        return {**fields, "callback_url": given["url"]}
    return {**fields, "target": given["target"]} if work else fields


def _dead_letter_filters(options: DeadLetterOptions | None) -> dict[str, Any]:
    """Return the filters as the API takes them. Raise TypeError and ValueError."""
    refuse_unknown(options or {}, DeadLetterOptions, "dead_letters")
    return {DEAD_LETTER_NAMES.get(name, name): value for name, value in in_json(options or {}).items()}


# Paths, queries and answers


def _path(*parts: str) -> str:
    """Raise ValueError when a part is empty, because another path would be called."""
    if not all(parts):
        raise ValueError("the id or name is empty")
    return "/v1/" + "/".join(quote(part, safe=":") for part in parts)


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _query(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in _given(values).items()}


def _with_key(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"idempotency_key": f"client-{os.urandom(16).hex()}", **fields}


def as_it_is(document: Any) -> Any:
    return document


def _nothing(_: Any) -> None:
    return None


def _one(kind: type[Value]) -> Read[Value]:
    return lambda document: read_answer(kind, document)


def _many(kind: type[Value], name: str) -> Read[list[Value]]:
    return lambda document: [read_answer(kind, one) for one in document[name]]


def _page(kind: type[Value], name: str) -> Read[Page[Value]]:
    return lambda document: Page([read_answer(kind, one) for one in document[name]], document.get("next_cursor"))


def _read_step(document: Any) -> Page[answers.BulkStep]:
    return Page([read_answer(answers.BulkStep, document)], document.get("next_cursor"))


def _read_batch(document: Any) -> list[Job | ClientError]:
    return [error_of(422, one, None) if "error" in one else read_answer(Job, one) for one in document["jobs"]]
