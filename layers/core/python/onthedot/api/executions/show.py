"""Show runs: executions with their attempts, and ranges of skipped fire times."""

from collections.abc import Sequence

from onthedot.api.core.times import show_time
from onthedot.api.executions.views import (
    AttemptView,
    ExecutionsView,
    ExecutionView,
    KeptView,
    SkippedView,
    UnreadableView,
)
from onthedot.domain.errors import Unreadable
from onthedot.domain.instants import format_instant
from onthedot.domain.reports.explain_gates import name_gate
from onthedot.domain.runs.records import SCHEDULED, Attempt, Kind, Record, Status
from onthedot.domain.runs.shown_status import RETRYING
from onthedot.domain.traces import span_id_of, trace_id_of
from onthedot.use_cases.attempts.results import ShownResult


def executions_view(
    runs: Sequence[tuple[Record, ShownResult]], next_cursor: str | None, faulty: Sequence[Unreadable] = ()
) -> ExecutionsView:
    """Return a page of runs."""
    view: ExecutionsView = {
        "executions": [run_view(run, result) for run, result in runs],
        "next_cursor": next_cursor,
    }
    return {**view, "unreadable": unreadable_view(faulty)} if faulty else view


def unreadable_view(faulty: Sequence[Unreadable]) -> list[UnreadableView]:
    """Return the records that cannot be read."""
    return [{"id": one.run_id, "reason": one.why} for one in faulty]


def run_view(run: Record, result: ShownResult) -> ExecutionView | SkippedView:
    """Return a run or a range of skipped fire times."""
    return skipped_view(run) if run.kind is Kind.SKIPPED_RANGE else execution_view(run, result)


def execution_view(run: Record, result: ShownResult) -> ExecutionView:
    """Return a run with its attempts."""
    return {
        "execution_id": run.run_id,
        "job_id": run.job_id,
        "status": RETRYING if run.status in SCHEDULED and run.attempt else run.status.value,
        "trigger": run.trigger or "schedule",
        "priority": run.priority.value,
        "pool": run.pool,
        "fire_time": format_instant(run.nominal_at),
        "next_fire_time": format_instant(run.fire_at) if run.status in SCHEDULED else None,
        "started_at": show_time(run.started_at),
        "finished_at": show_time(run.finished_at),
        "lateness_ms": lateness_ms(run),
        "worker": run.worker,
        "attempts": _attempts(run),
        "lost_attempts": run.losses,
        "error": _error(run),
        "reason": reason_of(run),
        "result": result.text,
        "result_url": result.link,
        "trace_id": trace_id_of(run.run_id, run.trace),
    }


def skipped_view(run: Record) -> SkippedView:
    """Return a range of skipped fire times."""
    return {
        "execution_id": run.run_id,
        "job_id": run.job_id,
        "status": run.status.value,
        "fire_time": format_instant(run.nominal_at),
        "until": format_instant(run.nominal_at if run.skipped_until is None else run.skipped_until),
        "count": run.skipped_count or 1,
        "reason": run.reason,
    }


def kept_view(run: Record) -> KeptView:
    """Return the lease of a run after a heartbeat."""
    return {
        "execution_id": run.run_id,
        "attempt": run.attempt,
        "lease_until": format_instant(run.lease_until or 0),
        "cancel_requested": run.cancel_requested is not None,
    }


def lateness_ms(run: Record) -> int | None:
    """Return the first start minus the fire time.

    Return None before the first start, and when the first attempt is no longer stored because many others followed.
    """
    first = run.attempts[0].started_at if run.attempts and run.attempts[0].number == 1 else None
    if first is None and run.attempt == 1:
        first = run.started_at
    return None if first is None else first - run.nominal_at


def reason_of(run: Record) -> str | None:
    """Return why the run is in its status. Of a run that waits at a gate, the gate is the reason."""
    waits = name_gate(run)
    return run.reason if waits is None else waits.message


def retries(run: Record) -> int:
    """Return the number of attempts after the first one."""
    return max(0, run.attempt - 1)


def _attempts(run: Record) -> list[AttemptView]:
    """Return the attempts that ended, and the one that runs."""
    ended = [_attempt(run.run_id, attempt) for attempt in run.attempts]
    if run.status is not Status.RUNNING or run.started_at is None:
        return ended
    running: AttemptView = {
        "attempt": run.attempt,
        "worker": run.worker or "",
        "started_at": format_instant(run.started_at),
        "ended_at": None,
        "outcome": "running",
        "error": None,
        "error_class": None,
        "span_id": span_id_of(run.run_id, run.attempt),
    }
    return [*ended, running]


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


def _error(run: Record) -> str | None:
    """Return the error of the last attempt, or the reason of a run that failed without any attempt."""
    last = run.attempts[-1].error if run.attempts else None
    return last or (run.reason if run.status is Status.FAILED else None)
