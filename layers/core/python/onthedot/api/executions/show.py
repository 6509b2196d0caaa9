"""Page[Record] as the API shows them: executions with their attempts, and ranges of skipped fire times."""

from typing import Final

from onthedot.api.jobs.views import AttemptView, ExecutionsView, ExecutionView, SkippedView
from onthedot.domain.instants import format_instant
from onthedot.domain.runs.records import SCHEDULED, Attempt, Kind, Record, Status
from onthedot.ports import Blobs, Page
from onthedot.use_cases.attempts.results import result_link

RETRYING: Final = "RETRYING"


def executions_view(page: Page[Record], blobs: Blobs, next_cursor: str | None) -> ExecutionsView:
    return {"executions": [run_view(run, blobs) for run in page.items], "next_cursor": next_cursor}


def run_view(run: Record, blobs: Blobs) -> ExecutionView | SkippedView:
    return skipped_view(run) if run.kind is Kind.SKIPPED_RANGE else execution_view(run, blobs)


def whole_run_view(run: Record, blobs: Blobs) -> ExecutionView | SkippedView:
    """With its result, also a long one of an engine that has no links."""
    if run.kind is Kind.SKIPPED_RANGE:
        return skipped_view(run)
    view = execution_view(run, blobs)
    if run.result_ref is not None and view["result_url"] is None:
        content = blobs.get(run.result_ref)
        view["result"] = None if content is None else content.decode(errors="replace")
    return view


def execution_view(run: Record, blobs: Blobs) -> ExecutionView:
    """A short result stands in it, a long one is shown by a link."""
    return {
        "execution_id": run.run_id,
        "job_id": run.job_id,
        "status": RETRYING if run.status in SCHEDULED and run.attempt else run.status.value,
        "trigger": trigger(run),
        "priority": run.priority.value,
        "pool": run.pool,
        "fire_time": format_instant(run.nominal_at),
        "next_fire_time": format_instant(run.fire_at) if run.status in SCHEDULED else None,
        "started_at": maybe_time(run.started_at),
        "finished_at": maybe_time(run.finished_at),
        "lateness_ms": lateness_ms(run),
        "worker": run.worker,
        "attempts": _attempts(run),
        "lost_attempts": run.losses,
        "error": _error(run),
        "reason": run.reason,
        "result": run.result,
        "result_url": result_link(blobs, run),
    }


def skipped_view(run: Record) -> SkippedView:
    return {
        "execution_id": run.run_id,
        "job_id": run.job_id,
        "status": run.status.value,
        "fire_time": format_instant(run.nominal_at),
        "until": format_instant(run.nominal_at if run.skipped_until is None else run.skipped_until),
        "count": run.skipped_count or 1,
        "reason": run.reason,
    }


def trigger(run: Record) -> str:
    """What made the run."""
    return run.trigger or "schedule"


def lateness_ms(run: Record) -> int | None:
    """First start minus nominal time; None before it, and when so many attempts followed that it is not kept."""
    first = run.attempts[0].started_at if run.attempts and run.attempts[0].number == 1 else None
    if first is None and run.attempt == 1:
        first = run.started_at
    return None if first is None else first - run.nominal_at


def retries(run: Record) -> int:
    return max(0, run.attempt - 1)


def maybe_time(instant: int | None) -> str | None:
    return None if instant is None else format_instant(instant)


def _attempts(run: Record) -> list[AttemptView]:
    ended = [_attempt(attempt) for attempt in run.attempts]
    if run.status is not Status.RUNNING or run.started_at is None:
        return ended
    under_way: AttemptView = {
        "attempt": run.attempt,
        "worker": run.worker or "",
        "started_at": format_instant(run.started_at),
        "ended_at": None,
        "outcome": "running",
        "error": None,
        "error_class": None,
    }
    return [*ended, under_way]


def _attempt(attempt: Attempt) -> AttemptView:
    return {
        "attempt": attempt.number,
        "worker": attempt.worker,
        "started_at": format_instant(attempt.started_at),
        "ended_at": format_instant(attempt.ended_at),
        "outcome": attempt.outcome,
        "error": attempt.error,
        "error_class": attempt.error_class,
    }


def _error(run: Record) -> str | None:
    """The last attempt's error; of a run that failed without any attempt, its reason."""
    last = run.attempts[-1].error if run.attempts else None
    return last or (run.reason if run.status is Status.FAILED else None)
