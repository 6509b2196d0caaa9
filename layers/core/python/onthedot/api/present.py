"""Runs as the API shows them. Times are RFC 3339 in UTC with milliseconds; secrets are not shown."""

import json
from collections.abc import Mapping
from typing import Final

from onthedot.api.times import format_instant
from onthedot.api.views import (
    AcceptedView,
    AttemptView,
    ExecutionView,
    JobView,
    RetryView,
    StatusView,
    TargetView,
)
from onthedot.domain.run import Attempt, HttpTarget, RetryPolicy, Run, Status

RETRYING: Final = "RETRYING"
HIDDEN: Final = "***"
_SECRET_WORDS: Final = ("auth", "cookie", "token", "secret", "key", "password", "credential", "signature")
_WAITING: Final = frozenset({Status.PENDING, Status.DISPATCHED})


def shown_status(run: Run) -> str:
    """To a user, waiting after a failed or lost attempt is something else than waiting for the first."""
    return RETRYING if run.status in _WAITING and run.attempt else run.status.value


def accepted_view(run: Run) -> AcceptedView:
    return {
        "job_id": run.job_id,
        "status": shown_status(run),
        "name": run.definition.name,
        "priority": run.priority.value,
        "pool": run.pool,
        "created_at": format_instant(run.created_at),
        "fire_time": format_instant(run.nominal_at),
        "next_fire_time": _next(run),
    }


def status_view(run: Run) -> StatusView:
    return {
        "job_id": run.job_id,
        "status": shown_status(run),
        "last_run": _time(run.started_at),
        "next_run": _next(run),
        "retry_count": _retries(run),
    }


def job_view(run: Run, payload: bytes) -> JobView:
    """The whole job, with its payload wherever that is kept."""
    definition = run.definition
    return {
        **accepted_view(run),
        "tags": dict(definition.tags),
        "target": _target(definition.target),
        "payload": json.loads(payload),
        "retry": _retry(definition.retry),
        "timeout_seconds": definition.timeout_seconds,
        "retry_count": _retries(run),
        "last_run": _time(run.started_at),
        "finished_at": _time(run.finished_at),
        "lateness_ms": lateness_ms(run),
        "reason": run.reason,
        "result": run.result,
    }


def execution_view(run: Run) -> ExecutionView:
    return {
        "execution_id": run.run_id,
        "job_id": run.job_id,
        "status": shown_status(run),
        "priority": run.priority.value,
        "pool": run.pool,
        "fire_time": format_instant(run.nominal_at),
        "next_fire_time": _next(run),
        "started_at": _time(run.started_at),
        "finished_at": _time(run.finished_at),
        "lateness_ms": lateness_ms(run),
        "worker": run.worker,
        "attempts": _attempts(run),
        "lost_attempts": run.losses,
        "error": _error(run),
        "reason": run.reason,
        "result": run.result,
    }


def lateness_ms(run: Run) -> int | None:
    """First start minus nominal time; None before it, and when so many attempts followed that it is not kept."""
    first = run.attempts[0].started_at if run.attempts and run.attempts[0].number == 1 else None
    if first is None and run.attempt == 1:
        first = run.started_at
    return None if first is None else first - run.nominal_at


def _attempts(run: Run) -> list[AttemptView]:
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
    }


def _error(run: Run) -> str | None:
    """The last attempt's error; of a run that failed without any attempt, its reason."""
    last = run.attempts[-1].error if run.attempts else None
    return last or (run.reason if run.status is Status.FAILED else None)


def _target(target: HttpTarget) -> TargetView:
    return {"type": "http", "url": target.url, "method": target.method, "headers": _masked(target.headers)}


def _masked(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: HIDDEN if _is_secret(name) else value for name, value in headers.items()}


def _is_secret(name: str) -> bool:
    return any(word in name.lower() for word in _SECRET_WORDS)


def _retry(policy: RetryPolicy) -> RetryView:
    return {
        "max_retries": policy.max_retries,
        "backoff_seconds": policy.backoff_seconds,
        "factor": policy.factor,
        "max_backoff_seconds": policy.max_backoff_seconds,
        "jitter": policy.jitter,
    }


def _retries(run: Run) -> int:
    return max(0, run.attempt - 1)


def _next(run: Run) -> str | None:
    return format_instant(run.fire_at) if run.status in _WAITING else None


def _time(instant: int | None) -> str | None:
    return None if instant is None else format_instant(instant)
