"""What the API shows, as types: `present` fills them and `/openapi.json` describes them."""

from typing import Any

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict


class AcceptedView(TypedDict):
    job_id: str
    status: str
    name: str | None
    priority: str
    pool: str
    created_at: str
    fire_time: str
    next_fire_time: str | None


class StatusView(TypedDict):
    job_id: str
    status: str
    last_run: str | None
    next_run: str | None
    retry_count: int


class TargetView(TypedDict):
    type: str
    url: str
    method: str
    headers: dict[str, str]


class RetryView(TypedDict):
    max_retries: int
    backoff_seconds: float
    factor: float
    max_backoff_seconds: float
    jitter: bool


class JobView(AcceptedView):
    tags: dict[str, str]
    target: TargetView
    payload: Any
    retry: RetryView
    timeout_seconds: int
    retry_count: int
    last_run: str | None
    finished_at: str | None
    lateness_ms: int | None
    reason: str | None
    result: str | None


class AttemptView(TypedDict):
    attempt: int
    worker: str
    started_at: str
    ended_at: str | None
    outcome: str
    error: str | None


class ExecutionView(TypedDict):
    execution_id: str
    job_id: str
    status: str
    priority: str
    pool: str
    fire_time: str
    next_fire_time: str | None
    started_at: str | None
    finished_at: str | None
    lateness_ms: int | None
    worker: str | None
    attempts: list[AttemptView]
    lost_attempts: int
    error: str | None
    reason: str | None
    result: str | None


class ExecutionsView(TypedDict):
    executions: list[ExecutionView]


class DeletedView(TypedDict):
    deleted: bool


class HealthView(TypedDict):
    status: str
    version: str
    time: str


class ErrorDetail(TypedDict):
    field: str
    message: str


class ErrorBody(TypedDict):
    code: str
    message: str
    details: list[ErrorDetail]


class ErrorView(TypedDict):
    error: ErrorBody
