"""What the API shows, as types: `present` and its siblings fill them and `/openapi.json` describes them."""

from typing import Any, NotRequired

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict

from onthedot.api.targets.views import RequirementsView, TargetView


class AcceptedView(TypedDict):
    job_id: str
    status: str
    version: int
    name: str | None
    priority: str
    pool: str
    created_at: str
    fire_time: str | None
    next_fire_time: str | None


class StatusView(TypedDict):
    job_id: str
    status: str
    last_run: str | None
    next_run: str | None
    retry_count: int


class RetryView(TypedDict):
    max_retries: int
    backoff_seconds: float
    factor: float
    max_backoff_seconds: float
    jitter: bool


class DstView(TypedDict):
    gap: str
    overlap: str


class MisfireView(TypedDict):
    policy: str
    grace_seconds: int


class RecurrenceView(TypedDict):
    """Of a recurring job: `cron` with its zone and policy, or `every`."""

    cron: NotRequired[str]
    timezone: NotRequired[str]
    dst: NotRequired[DstView]
    every: NotRequired[int]
    start_at: NotRequired[str | None]
    end_at: NotRequired[str | None]
    max_runs: NotRequired[int | None]
    jitter_seconds: NotRequired[int]
    misfire: NotRequired[MisfireView]
    overlap: NotRequired[str]
    runs: NotRequired[int]


class OnEventView(TypedDict):
    """Of a job that waits for events: their pattern."""

    on_event: NotRequired[dict[str, Any]]


class JobView(AcceptedView, RecurrenceView, OnEventView):
    tags: dict[str, str]
    target: TargetView
    payload: Any
    payload_url: str | None
    retry: RetryView
    timeout_seconds: int
    requirements: RequirementsView
    retry_count: int
    last_run: str | None
    finished_at: str | None
    lateness_ms: int | None
    reason: str | None
    result: str | None
    result_url: str | None
    dependencies: list[str]
    on_parent_failure: str | None
    workflow_id: str | None
    key: str | None


class AttemptView(TypedDict):
    attempt: int
    worker: str
    started_at: str
    ended_at: str | None
    outcome: str
    error: str | None
    error_class: str | None


class ExecutionView(TypedDict):
    execution_id: str
    job_id: str
    status: str
    trigger: str
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
    result_url: str | None


class SkippedView(TypedDict):
    """Fire times that were not run, many as one."""

    execution_id: str
    job_id: str
    status: str
    fire_time: str
    until: str
    count: int
    reason: str | None


class ExecutionsView(TypedDict):
    executions: list[ExecutionView | SkippedView]
    next_cursor: str | None


class EventView(TypedDict):
    """The runs that stand for the event, made now or when it came before."""

    event_id: str
    runs: list[str]


class DeletedView(TypedDict):
    deleted: bool


class BackfilledView(TypedDict):
    created: int
    existing: int
    left: int
    executions: list[str]


class FireTimeView(TypedDict):
    time: str
    local: str
    note: str | None


class PreviewView(TypedDict):
    fire_times: list[FireTimeView]


class MinuteView(TypedDict):
    time: str
    runs: int


class ForecastView(TypedDict):
    minutes: list[MinuteView]
    truncated: bool


class ReasonView(TypedDict):
    code: str
    message: str


class ExplanationView(TypedDict):
    job_id: str
    status: str
    reasons: list[ReasonView]


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


class BatchView(TypedDict):
    """In the order of the request."""

    jobs: list[AcceptedView | ErrorView]
