"""Jobs as the API shows them. Times are RFC 3339 in UTC with milliseconds; secrets are not shown."""

import json
from collections.abc import Mapping
from typing import Final

from onthedot.api.present_runs import RETRYING, lateness_ms, maybe_time, retries
from onthedot.api.present_schedules import recurrence_view
from onthedot.api.times import format_instant
from onthedot.api.views import AcceptedView, ExplanationView, JobView, RetryView, StatusView, TargetView
from onthedot.domain.explain import WAITING
from onthedot.domain.run import Definition, HttpTarget, Kind, Record, RetryPolicy, Status
from onthedot.use_cases.explain_job import Explained
from onthedot.use_cases.list_runs import Outlook

HIDDEN: Final = "***"
_SECRET_WORDS: Final = ("auth", "cookie", "token", "secret", "key", "password", "credential", "signature")


def shown_status(job: Record, next_at: int | None) -> str:
    """To a user, waiting after a failed or lost attempt is something else than waiting for the first.

    And a schedule has not ended before its last run has had its time, though the job has nothing more to stamp.
    """
    if job.status in WAITING and job.attempt:
        return RETRYING
    over = job.status is Status.COMPLETED and next_at is not None
    return Status.ACTIVE.value if over else job.status.value


def accepted_view(job: Record, next_at: int | None) -> AcceptedView:
    fire_time = next_at if job.kind is Kind.RECURRING else job.nominal_at
    return {
        "job_id": job.job_id,
        "status": shown_status(job, next_at),
        "version": job.version or 1,
        "name": None if job.definition is None else job.definition.name,
        "priority": job.priority.value,
        "pool": job.pool,
        "created_at": format_instant(job.created_at),
        "fire_time": maybe_time(fire_time),
        "next_fire_time": maybe_time(next_at),
    }


def status_view(job: Record, outlook: Outlook) -> StatusView:
    return {
        "job_id": job.job_id,
        "status": shown_status(job, outlook.next_at),
        "last_run": _last_run(outlook),
        "next_run": maybe_time(outlook.next_at),
        "retry_count": 0 if outlook.latest is None else retries(outlook.latest),
    }


def job_view(job: Record, definition: Definition, payload: bytes, outlook: Outlook) -> JobView:
    """The whole job, with its payload wherever that is kept."""
    return {
        **accepted_view(job, outlook.next_at),
        **recurrence_view(job),
        "tags": dict(definition.tags),
        "target": _target(definition.target),
        "payload": json.loads(payload),
        "retry": _retry(definition.retry),
        "timeout_seconds": definition.timeout_seconds,
        "retry_count": 0 if outlook.latest is None else retries(outlook.latest),
        "last_run": _last_run(outlook),
        "finished_at": maybe_time(job.finished_at),
        "lateness_ms": None if outlook.latest is None else lateness_ms(outlook.latest),
        "reason": job.reason,
        "result": job.result,
    }


def explanation_view(explained: Explained, next_at: int | None) -> ExplanationView:
    return {
        "job_id": explained.job.job_id,
        "status": shown_status(explained.job, next_at),
        "reasons": [{"code": reason.code, "message": reason.message} for reason in explained.reasons],
    }


def _last_run(outlook: Outlook) -> str | None:
    """When the latest run began; of one that ended without a start, when it ended."""
    run = outlook.latest
    if run is None or (run.started_at is None and run.kind is not Kind.STAMPED):
        return None
    return maybe_time(run.finished_at if run.started_at is None else run.started_at)


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
