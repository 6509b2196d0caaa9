"""Show jobs. Secrets in their targets are masked."""

import json
from collections.abc import Sequence
from typing import Final

from onthedot.api.core.errors import response_to
from onthedot.api.core.times import show_time
from onthedot.api.core.views import ErrorView
from onthedot.api.executions.show import lateness_ms, reason_of, retries
from onthedot.api.jobs.views import (
    AcceptedView,
    BackfilledView,
    ExplanationView,
    JobView,
    OnEventView,
    ReasonView,
    RetryView,
    StatusView,
)
from onthedot.api.schedules.show import recurrence_view
from onthedot.api.targets.show import requirements_view, target_view
from onthedot.domain.errors import Unreadable
from onthedot.domain.instants import format_instant
from onthedot.domain.reports.explain import Reason
from onthedot.domain.runs.dependencies import OnParentFailure
from onthedot.domain.runs.records import STAMPING, Definition, Kind, Record, RetryPolicy
from onthedot.domain.runs.shown_status import shown_status
from onthedot.domain.traces import trace_id_of
from onthedot.use_cases.attempts.results import ShownResult
from onthedot.use_cases.jobs.list_runs import Outlook
from onthedot.use_cases.jobs.payloads import ShownPayload
from onthedot.use_cases.jobs.run_extra import Backfilled

_MAYBE_STORED: Final = "may be stored or not; send it again, with the same idempotency_key if it has one"


def accepted_view(job: Record, next_at: int | None) -> AcceptedView:
    fire_time = next_at if job.kind in STAMPING else job.nominal_at
    return {
        "job_id": job.job_id,
        "status": shown_status(job, next_at),
        "version": job.version or 1,
        "name": None if job.definition is None else job.definition.name,
        "priority": job.priority.value,
        "pool": job.pool,
        "created_at": format_instant(job.created_at),
        "fire_time": show_time(fire_time),
        "next_fire_time": show_time(next_at),
    }


def status_view(job: Record, outlook: Outlook) -> StatusView:
    return {
        "job_id": job.job_id,
        "status": shown_status(job, outlook.next_at),
        "last_run": _last_run(outlook),
        "next_run": show_time(outlook.next_at),
        "retry_count": 0 if outlook.latest is None else retries(outlook.latest),
        "reason": reason_of(job),
    }


def job_view(
    job: Record, definition: Definition, outlook: Outlook, payload: ShownPayload, result: ShownResult
) -> JobView:
    return {
        **accepted_view(job, outlook.next_at),
        **recurrence_view(job),
        **_on_event(job),
        "description": definition.description,
        "tags": dict(definition.tags),
        "target": target_view(definition.target),
        "payload": payload.value,
        "payload_url": payload.link,
        "retry": _retry(definition.retry),
        "timeout_seconds": definition.timeout_seconds,
        "requirements": requirements_view(definition.requirements),
        "gates": list(job.gates),
        "start_within_seconds": job.start_within_seconds,
        "retry_count": 0 if outlook.latest is None else retries(outlook.latest),
        "last_run": _last_run(outlook),
        "finished_at": show_time(job.finished_at),
        "lateness_ms": None if outlook.latest is None else lateness_ms(outlook.latest),
        "reason": reason_of(job),
        "result": result.text,
        "result_url": result.link,
        "dependencies": list(job.parents),
        "on_parent_failure": (job.on_parent_failure or OnParentFailure.FAIL.value) if job.parents else None,
        "trace_id": trace_id_of(job.run_id, job.trace),
        "workflow_id": job.workflow,
        "key": job.key,
    }


def _on_event(job: Record) -> OnEventView:
    return {} if job.pattern is None else {"on_event": json.loads(job.pattern)}


def explanation_view(job: Record, reasons: Sequence[Reason], next_at: int | None) -> ExplanationView:
    """Return the reasons why a job has not run."""
    return {"job_id": job.job_id, "status": shown_status(job, next_at), "reasons": _reasons(reasons)}


def unreadable_explanation(job: Unreadable, reasons: Sequence[Reason]) -> ExplanationView:
    """Return the reasons for a job that cannot be read, with its status as it is stored."""
    return {"job_id": job.run_id, "status": job.status or "", "reasons": _reasons(reasons)}


def _reasons(reasons: Sequence[Reason]) -> list[ReasonView]:
    return [{"code": reason.code, "message": reason.message} for reason in reasons]


def backfilled_view(done: Backfilled) -> BackfilledView:
    ids = [run.run_id for run in done.created]
    return {
        "created": len(ids),
        "existing": done.existing,
        "left": done.left,
        "next_from": show_time(done.next_from),
        "executions": ids,
    }


def refused_view(error: Exception) -> ErrorView:
    """Return the error of an entry of a batch, as a call of its own would answer it. Raise an unexpected error."""
    response = response_to(error)
    if response is None:
        raise error
    view: ErrorView = response.body
    if response.status == 503:
        view["error"]["message"] = _MAYBE_STORED
    return view


def _last_run(outlook: Outlook) -> str | None:
    """Return the time when the latest run started or, if it ended without a start, when it ended."""
    run = outlook.latest
    if run is None or (run.started_at is None and run.kind is not Kind.STAMPED):
        return None
    return show_time(run.finished_at if run.started_at is None else run.started_at)


def _retry(policy: RetryPolicy) -> RetryView:
    return {
        "max_retries": policy.max_retries,
        "backoff_seconds": policy.backoff_seconds,
        "factor": policy.factor,
        "max_backoff_seconds": policy.max_backoff_seconds,
        "jitter": policy.jitter,
    }
