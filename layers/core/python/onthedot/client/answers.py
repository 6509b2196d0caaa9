"""The answers of the API as typed values. Fields that this version does not know are ignored.

Times are aware datetimes in UTC. A field that does not apply is None or empty.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, TypeVar

Answer = TypeVar("Answer")


class Status(StrEnum):
    """The status of a job or an execution."""

    WAITING = "WAITING"
    PENDING = "PENDING"
    DISPATCHED = "DISPATCHED"
    RUNNING = "RUNNING"
    RETRYING = "RETRYING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    CANCELLED = "CANCELLED"
    DELETED = "DELETED"
    PAUSED = "PAUSED"
    ACTIVE = "ACTIVE"
    COMPLETED = "COMPLETED"


ENDED = frozenset({Status.SUCCEEDED, Status.FAILED, Status.SKIPPED, Status.CANCELLED, Status.DELETED, Status.COMPLETED})


def read_answer(kind: type[Answer], document: Any) -> Answer:
    """Return a document of the API as this dataclass. Raise ValueError when it is no such document."""
    if not isinstance(document, Mapping):
        raise ValueError(f"the API did not answer with an object but with {type(document).__name__}")  # noqa: TRY004
    values = {
        one.name: _read(one.metadata.get("read"), document[one.metadata.get("key", one.name)])
        for one in fields(kind)  # type: ignore[arg-type]
        if document.get(one.metadata.get("key", one.name)) is not None
    }
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(f"the API's answer lacks fields: {error}") from error


def read_time(text: str) -> datetime:
    """Return a time of the API."""
    return datetime.fromisoformat(text)


def read_status(text: str) -> Status | str:
    """Return a status. One that this version does not know stays a text."""
    return Status(text) if text in Status.__members__ else text


_TIME: Final = {"read": read_time}
_STATUS: Final = {"read": read_status}


def _read(read: Callable[[Any], Any] | None, value: Any) -> Any:
    return value if read is None else read(value)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A run that ended, or a range of skipped fire times."""

    execution_id: str
    status: Status | str = field(metadata=_STATUS)
    fire_time: datetime | None = field(default=None, metadata=_TIME)
    finished_at: datetime | None = field(default=None, metadata=_TIME)
    lateness_ms: int | None = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change that a client made to a job. `by` is the name of its token."""

    at: datetime = field(metadata={"read": read_time})
    action: str
    by: str | None = None
    fields: list[str] = field(default_factory=list)
    version: int = 1


def _outcome(document: Any) -> Outcome:
    return read_answer(Outcome, document)


def _statuses(documents: list[str]) -> list[Status | str]:
    return [read_status(one) for one in documents]


def _changes(documents: list[Any]) -> list[Change]:
    return [read_answer(Change, one) for one in documents]


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job. The answer to a new job has the fields up to `next_fire_time`, `Client.get` answers with all."""

    id: str = field(metadata={"key": "job_id"})
    status: Status | str = field(metadata=_STATUS)
    version: int = 1
    name: str | None = None
    priority: str = "MEDIUM"
    pool: str | None = None
    created_at: datetime | None = field(default=None, metadata=_TIME)
    fire_time: datetime | None = field(default=None, metadata=_TIME)
    next_fire_time: datetime | None = field(default=None, metadata=_TIME)
    description: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    target: Mapping[str, Any] = field(default_factory=dict)
    payload: Any = None
    payload_url: str | None = None
    retry: Mapping[str, Any] = field(default_factory=dict)
    timeout_seconds: int | None = None
    requirements: Mapping[str, Any] = field(default_factory=dict)
    gates: list[str] = field(default_factory=list)
    start_within_seconds: int | None = None
    retry_count: int = 0
    last_run: datetime | None = field(default=None, metadata=_TIME)
    finished_at: datetime | None = field(default=None, metadata=_TIME)
    lateness_ms: int | None = None
    reason: str | None = None
    result: str | None = None
    result_url: str | None = None
    dependencies: list[str] = field(default_factory=list)
    on_parent_failure: str | None = None
    trace_id: str | None = None
    workflow_id: str | None = None
    key: str | None = None
    cron: str | None = None
    every: int | None = None
    timezone: str | None = None
    dst: Mapping[str, str] = field(default_factory=dict)
    start_at: datetime | None = field(default=None, metadata=_TIME)
    end_at: datetime | None = field(default=None, metadata=_TIME)
    max_runs: int | None = None
    jitter_seconds: int = 0
    misfire: Mapping[str, Any] = field(default_factory=dict)
    overlap: str | None = None
    runs: int | None = None
    on_event: Mapping[str, Any] | None = None
    last_outcome: Outcome | None = field(default=None, metadata={"read": _outcome})
    outcomes: list[Status | str] = field(default_factory=list, metadata={"read": _statuses})
    """Of a job with several runs: the statuses of the latest 12 that ended, the latest first."""
    changes: list[Change] = field(default_factory=list, metadata={"read": _changes})
    """The latest 20, the newest first."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One try of an execution. `ended_at` is None while it runs."""

    number: int = field(metadata={"key": "attempt"})
    outcome: str
    worker: str | None = None
    started_at: datetime | None = field(default=None, metadata=_TIME)
    ended_at: datetime | None = field(default=None, metadata=_TIME)
    error: str | None = None
    error_class: str | None = None
    span_id: str | None = None


def _attempts(documents: list[Any]) -> list[Attempt]:
    return [read_answer(Attempt, one) for one in documents]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The latest report of an attempt: how much is done, from 0 to 1, and a short text. `at`: when it was stored."""

    at: datetime = field(metadata=_TIME)
    fraction: float | None = None
    text: str | None = None


def _progress(document: Any) -> Progress:
    return read_answer(Progress, document)


@dataclass(frozen=True, kw_only=True)
class Execution:
    """One occurrence of a job, or a range of `count` skipped fire times from `fire_time` to `until`."""

    id: str = field(metadata={"key": "execution_id"})
    job_id: str
    status: Status | str = field(metadata=_STATUS)
    name: str | None = None
    """The name of its job."""
    target: str | None = None
    """What its job calls, as one line without secrets."""
    fire_time: datetime | None = field(default=None, metadata=_TIME)
    trigger: str | None = None
    priority: str | None = None
    pool: str | None = None
    next_fire_time: datetime | None = field(default=None, metadata=_TIME)
    started_at: datetime | None = field(default=None, metadata=_TIME)
    finished_at: datetime | None = field(default=None, metadata=_TIME)
    lateness_ms: int | None = None
    running_ms: int | None = None
    """How long the present attempt has run."""
    deadline: datetime | None = field(default=None, metadata=_TIME)
    """When the running attempt reaches its time-out."""
    progress: Progress | None = field(default=None, metadata={"read": _progress})
    worker: str | None = None
    attempts: list[Attempt] = field(default_factory=list, metadata={"read": _attempts})
    lost_attempts: int = 0
    error: str | None = None
    reason: str | None = None
    result: str | None = None
    result_url: str | None = None
    trace_id: str | None = None
    until: datetime | None = field(default=None, metadata=_TIME)
    count: int = 1


@dataclass(frozen=True, kw_only=True)
class FireTime:
    """A fire time of a schedule, also as clocks in its time zone show it."""

    time: datetime = field(metadata={"read": read_time})
    local: str
    note: str | None = None
    """How a change of the clocks or jitter moves it."""


@dataclass(frozen=True, kw_only=True)
class WorkflowJob:
    """A job of a workflow."""

    key: str
    job_id: str | None = None
    status: Status | str | None = field(default=None, metadata={"read": read_status})
    depends_on: list[str] = field(default_factory=list)
    name: str | None = None
    fire_time: datetime | None = field(default=None, metadata=_TIME)
    started_at: datetime | None = field(default=None, metadata=_TIME)
    finished_at: datetime | None = field(default=None, metadata=_TIME)
    reason: str | None = None


def _workflow_jobs(documents: list[Any]) -> list[WorkflowJob]:
    return [read_answer(WorkflowJob, one) for one in documents]


@dataclass(frozen=True, kw_only=True)
class Workflow:
    """A workflow and its jobs."""

    id: str = field(metadata={"key": "workflow_id"})
    status: Status | str = field(metadata=_STATUS)
    name: str | None = None
    run_id: str | None = None
    reason: str | None = None
    fire_time: datetime | None = field(default=None, metadata=_TIME)
    next_fire_time: datetime | None = field(default=None, metadata=_TIME)
    jobs: list[WorkflowJob] = field(default_factory=list, metadata={"read": _workflow_jobs})
    critical_path: list[str] = field(default_factory=list)
    progress: Mapping[str, Any] = field(default_factory=dict)
    schedule: Mapping[str, Any] | None = None
