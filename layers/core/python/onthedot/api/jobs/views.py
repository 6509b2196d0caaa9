"""Types of the answers about jobs."""

from typing import Any, NotRequired

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict

from onthedot.api.core.views import ErrorView
from onthedot.api.executions.views import OutcomeView
from onthedot.api.schedules.views import RecurrenceView
from onthedot.api.targets.views import RequirementsView, TargetView


class AcceptedView(TypedDict):
    """A job as it was accepted. `fire_time` of a recurring job is its next one."""

    job_id: str
    status: str
    version: int
    name: str | None
    priority: str
    pool: str
    created_at: str
    fire_time: str | None
    next_fire_time: str | None


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


class RetryView(TypedDict):
    """The retry policy of a job."""

    max_retries: int
    backoff_seconds: float
    factor: float
    max_backoff_seconds: float
    jitter: bool


class OnEventView(TypedDict):
    """The pattern of a job that waits for events."""

    on_event: NotRequired[dict[str, Any]]


class ChangeView(TypedDict):
    """A change that a client made to a job. `by` is the name of its token, `fields` are those of a PATCH request."""

    at: str
    by: str | None
    action: str
    fields: list[str]
    version: int


class OutcomesView(TypedDict):
    """The statuses of the latest 12 runs that ended, the latest first. A job that runs once has none."""

    outcomes: NotRequired[list[str]]


class JobView(AcceptedView, RecurrenceView, OnEventView, OutcomesView):
    """A whole job. Secrets in its target are masked.

    `payload_url` links to a large payload and `result_url` to a long result, both for 15 minutes. `lateness_ms` and
    `retry_count` are of the latest run that started, `last_outcome` is the latest run that ended. `finished_at` of a
    recurring job is the end of its last run. `changes` has the latest 20, the newest first.
    """

    description: str | None
    tags: dict[str, str]
    target: TargetView
    payload: Any
    payload_url: str | None
    retry: RetryView
    timeout_seconds: int
    requirements: RequirementsView
    gates: list[str]
    start_within_seconds: int | None
    retry_count: int
    last_run: str | None
    finished_at: str | None
    last_outcome: OutcomeView | None
    lateness_ms: int | None
    reason: str | None
    result: str | None
    result_url: str | None
    dependencies: list[str]
    on_parent_failure: str | None
    trace_id: str
    workflow_id: str | None
    key: str | None
    changes: list[ChangeView]


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
    """A moment in the story of a run."""

    time: str
    message: str


class WhatIfView(TypedDict):
    """An action and its effect if it were done now. `action` is meant for programs, `message` for people."""

    action: str
    message: str


class ExplanationView(TypedDict):
    """The reasons why a job has not run, or what it does now.

    `timeline` is the story of its latest run, the oldest moment first, up to 30. `what_if` says what actions would do.
    """

    job_id: str
    name: str | None
    status: str
    reasons: list[ReasonView]
    timeline: list[MomentView]
    what_if: list[WhatIfView]
