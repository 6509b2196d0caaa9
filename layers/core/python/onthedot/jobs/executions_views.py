"""Executions as the API shows them."""

from collections.abc import Sequence
from typing import NotRequired

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict

from onthedot.api.lists import UnreadableView
from onthedot.api.times import show_time
from onthedot.core.clock import format_instant
from onthedot.core.lifecycle import deadline_of
from onthedot.core.records import SCHEDULED, Attempt, Definition, Kind, Record, Status
from onthedot.core.traces import span_id_of, trace_id_of
from onthedot.gates.explained import name_gate
from onthedot.jobs.contents import ShownResult
from onthedot.jobs.shown import shown_run_status
from onthedot.targets.types import one_line


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
    timeout. `progress` is its latest report: null when the next attempt starts, and when the execution has succeeded.
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


def run_view(run: Record, result: ShownResult, now: int, definition: Definition | None) -> ExecutionView | SkippedView:
    """`definition` is that of the run's job."""
    if run.kind is not Kind.SKIPPED_RANGE:
        return execution_view(run, result, now, definition)
    return {
        "execution_id": run.run_id,
        "job_id": run.job_id,
        "name": None if definition is None else definition.name,
        "target": None if definition is None else one_line(definition.target),
        "status": run.status.value,
        "fire_time": format_instant(run.fire_time),
        "until": format_instant(run.fire_time if run.skipped_until is None else run.skipped_until),
        "count": run.skipped_count or 1,
        "reason": run.reason,
    }


def execution_view(run: Record, result: ShownResult, now: int, definition: Definition | None = None) -> ExecutionView:
    """`definition` is that of its job, for a run that has none of its own."""
    definition = run.definition or definition
    return {
        "execution_id": run.run_id,
        "job_id": run.job_id,
        "name": None if definition is None else definition.name,
        "target": None if definition is None else one_line(definition.target),
        "status": shown_run_status(run),
        "trigger": run.trigger or "schedule",
        "priority": run.priority.value,
        "pool": run.pool,
        "fire_time": format_instant(run.fire_time),
        "next_fire_time": format_instant(run.due_at) if run.status in SCHEDULED else None,
        "started_at": show_time(run.started_at),
        "finished_at": show_time(run.finished_at),
        "lateness_ms": lateness_ms(run),
        "running_ms": running_ms(run, now),
        "deadline": show_time(deadline_of(run)),
        "progress": _progress(run),
        "worker": run.worker,
        "attempts": _attempts(run),
        "lost_attempts": run.losses,
        "error": error_of(run),
        "reason": reason_of(run),
        "result": result.text,
        "result_url": result.link,
        "trace_id": trace_id_of(run.run_id, run.trace),
    }


def outcome_words(ended: Sequence[Record]) -> list[str]:
    return [run.status.value for run in ended]


def last_outcome_view(ended: Sequence[Record]) -> OutcomeView | None:
    # The latest run is the first.
    if not ended:
        return None
    run = ended[0]
    return {
        "execution_id": run.run_id,
        "status": run.status.value,
        "fire_time": format_instant(run.fire_time),
        "finished_at": show_time(run.finished_at),
        "lateness_ms": lateness_ms(run),
        "reason": run.reason,
    }


def kept_view(run: Record) -> KeptView:
    return {
        "execution_id": run.run_id,
        "attempt": run.attempt,
        "lease_until": format_instant(run.lease_until or 0),
        "cancel_requested": run.cancel_requested is not None,
    }


def lateness_ms(run: Record) -> int | None:
    """Return None before the first start, and when the first of many attempts is no longer stored."""
    first = run.attempts[0].started_at if run.attempts and run.attempts[0].number == 1 else None
    if first is None and run.attempt == 1:
        first = run.started_at
    return None if first is None else first - run.fire_time


def running_ms(run: Record, now: int) -> int | None:
    return max(0, now - run.started_at) if run.status is Status.RUNNING and run.started_at is not None else None


def reason_of(run: Record) -> str | None:
    """Return why the run is in its status. If it waits at a gate, the gate is the reason."""
    waits = name_gate(run)
    return run.reason if waits is None else waits.message


def retries(run: Record) -> int:
    return max(0, run.attempt - 1)


def _progress(run: Record) -> RunProgressView | None:
    report = run.progress
    if report is None:
        return None
    return {"fraction": report.fraction, "text": report.text, "at": format_instant(report.at or 0)}


def _attempts(run: Record) -> list[AttemptView]:
    ended = [_attempt(run.run_id, attempt) for attempt in run.attempts]
    if run.status is not Status.RUNNING or run.started_at is None:
        return ended
    running = Attempt(run.attempt, run.worker or "", run.started_at, 0, "running")
    return [*ended, {**_attempt(run.run_id, running), "ended_at": None}]


def _attempt(run_id: str, attempt: Attempt) -> AttemptView:
    return {
        "attempt": attempt.number,
        "worker": attempt.worker,
        "started_at": format_instant(attempt.started_at),
        "ended_at": format_instant(attempt.ended_at),
        "outcome": attempt.outcome,
        "error": attempt.error,
        "error_class": attempt.error_class,
        "span_id": span_id_of(run_id, attempt.number),
    }


def error_of(run: Record) -> str | None:
    """Return the error of the last attempt, or the reason of a run that failed without any attempt."""
    last = run.attempts[-1].error if run.attempts else None
    return last or (run.reason if run.status is Status.FAILED else None)
