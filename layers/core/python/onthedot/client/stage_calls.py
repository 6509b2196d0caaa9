"""The calls of lists of jobs, of acts on many jobs, and about the state of a stage. It is pure."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from onthedot.client.answers import read_answer
from onthedot.client.options import JobFilter, Time, in_json, refuse_unknown
from onthedot.client.requests import PAGE, Operation

if TYPE_CHECKING:
    from onthedot.client.stage_answers import BulkStep, Gate, GatePage, JobPage, Overview, Queue, Statistics


def list_jobs(filters: JobFilter, cursor: str | None = None, limit: int = PAGE) -> "Operation[JobPage]":
    """Return the call that reads one page of jobs. Raise TypeError for a filter that does not exist."""
    refuse_unknown(filters, JobFilter, "list")
    chosen = {name: str(value) for name, value in filters.items() if value is not None}
    query = {**chosen, "limit": str(limit), **_next(cursor)}
    return Operation("GET", "/v1/jobs", _read_jobs, query=query)


def bulk(
    action: str,
    filters: JobFilter | None = None,
    ids: Sequence[str] | None = None,
    *,
    dry_run: bool = False,
    cursor: str | None = None,
) -> "Operation[BulkStep]":
    """Return the call that acts on some of many jobs. A call that runs jobs is not repeated: it would run them again.

    Raise TypeError for a filter that does not exist.
    """
    refuse_unknown(filters or {}, JobFilter, "bulk")
    chosen: dict[str, Any] = {} if ids is None else {"ids": list(ids)}
    if filters:
        chosen["filter"] = {name: value for name, value in filters.items() if value is not None}
    body = {"action": action, **chosen, "dry_run": dry_run, **_next(cursor)}
    is_repeatable = dry_run or action != "run"
    return Operation("POST", "/v1/jobs/bulk", _reader("BulkStep"), body=body, repeatable=is_repeatable)


def queues() -> "Operation[list[Queue]]":
    return Operation("GET", "/v1/queues", _read_queues)


def overview() -> "Operation[Overview]":
    return Operation("GET", "/v1/overview", _reader("Overview"))


def statistics(start: Time | None, end: Time | None, step: int | None, priority: str | None) -> "Operation[Statistics]":
    """Return the call that reads statistics. The API chooses a value for None."""
    # The option `at` has the form of all times.
    times = {name: in_json({"at": at})["at"] for name, at in (("from", start), ("to", end)) if at is not None}
    chosen = {**times, "step": step, "priority": priority}
    query = {name: str(value) for name, value in chosen.items() if value is not None}
    return Operation("GET", "/v1/statistics", _reader("Statistics"), query=query)


def gates(cursor: str | None) -> "Operation[GatePage]":
    return Operation("GET", "/v1/gates", _read_gates, query={"limit": str(PAGE), **_next(cursor)})


def gate(name: str) -> "Operation[Gate]":
    return Operation("GET", _gate_path(name), _reader("Gate"))


def set_gate(
    name: str, in_flight: int | None, per_second: float | None, burst: int | None, *, paused: bool
) -> "Operation[Gate]":
    """Return the call that makes a gate, or replaces all its limits."""
    body = {"in_flight": in_flight, "per_second": per_second, "burst": burst, "paused": paused}
    return Operation("PUT", _gate_path(name), _reader("Gate"), body=body)


def delete_gate(name: str) -> Operation[None]:
    return Operation("DELETE", _gate_path(name), lambda _: None, gone_is_done=True)


def _next(cursor: str | None) -> dict[str, str]:
    return {} if cursor is None else {"cursor": cursor}


def _gate_path(name: str) -> str:
    if not name:
        raise ValueError("the name of the gate is empty")
    return f"/v1/gates/{quote(name, safe=':')}"


def _reader(kind: str) -> Callable[[Any], Any]:
    def read(document: Any) -> Any:
        from onthedot.client import stage_answers  # noqa: PLC0415 - the first such answer loads it, and not the client

        return read_answer(getattr(stage_answers, kind), document)

    return read


def _read_jobs(document: Any) -> "JobPage":
    from onthedot.client.stage_answers import JobPage, ListedJob  # noqa: PLC0415 - as above

    return JobPage([read_answer(ListedJob, one) for one in document["jobs"]], document.get("next_cursor"))


def _read_queues(document: Any) -> "list[Queue]":
    from onthedot.client.stage_answers import Queue  # noqa: PLC0415 - as above

    return [read_answer(Queue, one) for one in document["queues"]]


def _read_gates(document: Any) -> "GatePage":
    from onthedot.client.stage_answers import Gate, GatePage  # noqa: PLC0415 - as above

    return GatePage([read_answer(Gate, one) for one in document["gates"]], document.get("next_cursor"))
