"""Types of the answers about executions."""

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing import NotRequired

from typing_extensions import TypedDict


class AttemptView(TypedDict):
    """One try of an execution. `ended_at` is null while it runs. `span_id` is its span in the trace."""

    attempt: int
    worker: str
    started_at: str
    ended_at: str | None
    outcome: str
    error: str | None
    error_class: str | None
    span_id: str


class RunProgressView(TypedDict):
    """The latest report of an attempt: how much is done, from 0 to 1, and a short text. `at`: when it was stored."""

    fraction: float | None
    text: str | None
    at: str


class ExecutionView(TypedDict):
    """One occurrence of a job, with its attempts.

    `lateness_ms` is the time from `fire_time` to the first start. `next_fire_time` is set while the execution waits for
    its next attempt. While an attempt runs, `running_ms` is for how long, and `deadline` is when it reaches its
    time-out. `progress` is its latest report: null when the next attempt starts, and when the execution has succeeded.
    A short result is in `result`, a long one is at `result_url` for 15 minutes. `name` is the
    job's, and `target` is what it calls, as one line without secrets. Both are null when the job is gone.
    """

    execution_id: str
    job_id: str
    name: str | None
    target: str | None
    status: str
    trigger: str
    priority: str
    pool: str
    fire_time: str
    next_fire_time: str | None
    started_at: str | None
    finished_at: str | None
    lateness_ms: int | None
    running_ms: int | None
    deadline: str | None
    progress: RunProgressView | None
    worker: str | None
    attempts: list[AttemptView]
    lost_attempts: int
    error: str | None
    reason: str | None
    result: str | None
    result_url: str | None
    trace_id: str


class SkippedView(TypedDict):
    """A range of fire times that were skipped: `count` of them, from `fire_time` to `until`."""

    execution_id: str
    job_id: str
    name: str | None
    target: str | None
    status: str
    fire_time: str
    until: str
    count: int
    reason: str | None


class OutcomeView(TypedDict):
    """A run that ended, or a range of skipped fire times, and why it has this status.

    `lateness_ms` is null when the run never started.
    """

    execution_id: str
    status: str
    fire_time: str
    finished_at: str | None
    lateness_ms: int | None
    reason: str | None


class UnreadableView(TypedDict):
    """A record that this version cannot read, and why."""

    id: str
    reason: str


class ExecutionsView(TypedDict):
    """One page of executions. Send `next_cursor` as `cursor` to get the next page.

    A page may be short, or empty, and have a `next_cursor`: a call looks at a bounded number of executions.
    `unreadable` names the executions of this page that this version cannot read, if there are any.
    """

    executions: list[ExecutionView | SkippedView]
    next_cursor: str | None
    unreadable: NotRequired[list[UnreadableView]]


class KeptView(TypedDict):
    """The lease of an execution after a heartbeat. The worker stops the execution when `cancel_requested` is true."""

    execution_id: str
    attempt: int
    lease_until: str
    cancel_requested: bool
