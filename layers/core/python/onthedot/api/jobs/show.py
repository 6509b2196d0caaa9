"""Show jobs. Secrets in their targets are masked."""

import json
from collections.abc import Sequence
from typing import Final

from onthedot.api.core.errors import response_to
from onthedot.api.core.times import show_time
from onthedot.api.core.views import ErrorView
from onthedot.api.executions.show import last_outcome_view, lateness_ms, outcome_words, reason_of, retries
from onthedot.api.jobs.views import (
    AcceptedView,
    BackfilledView,
    ChangeView,
    ExplanationView,
    JobView,
    OnEventView,
    OutcomesView,
    ReasonView,
    RetryView,
    StatusView,
)
from onthedot.api.schedules.show import recurrence_view
from onthedot.api.targets.show import requirements_view, target_view
from onthedot.domain.instants import format_instant
from onthedot.domain.reports.explain import Reason
from onthedot.domain.runs.change_log import ChangeNote, changes_of
from onthedot.domain.runs.dependencies import OnParentFailure
from onthedot.domain.runs.records import STAMPING, Definition, Kind, Record, RetryPolicy
from onthedot.domain.runs.shown_status import shown_status
from onthedot.domain.traces import trace_id_of
from onthedot.use_cases.attempts.results import ShownResult
from onthedot.use_cases.jobs.explain_job import Explanation
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
        "reason": _reason(job, outlook),
    }


def _reason(job: Record, outlook: Outlook) -> str | None:
    """Return why the job is in its status, or else why its latest run is in its own."""
    return reason_of(job) or (None if outlook.latest is None else reason_of(outlook.latest))


def job_view(  # noqa: PLR0917
    job: Record, definition: Definition, outlook: Outlook, payload: ShownPayload, result: ShownResult, now: int
) -> JobView:
    return {
        **accepted_view(job, outlook.next_at),
        **recurrence_view(job, now),
        **_on_event(job),
        **_outcomes(job, outlook),
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
        "finished_at": show_time(outlook.finished_at),
        "last_outcome": last_outcome_view(outlook.ended),
        "lateness_ms": None if outlook.latest is None else lateness_ms(outlook.latest),
        "reason": reason_of(job),
        "result": result.text,
        "result_url": result.link,
        "dependencies": list(job.parents),
        "on_parent_failure": (job.on_parent_failure or OnParentFailure.FAIL.value) if job.parents else None,
        "trace_id": trace_id_of(job.run_id, job.trace),
        "workflow_id": job.workflow,
        "key": job.key,
        "changes": [_change(note) for note in changes_of(job)],
    }


def _change(note: ChangeNote) -> ChangeView:
    return {
        "at": format_instant(note.at),
        "by": note.by,
        "action": note.action.value,
        "fields": list(note.fields),
        "version": note.version,
    }


def _on_event(job: Record) -> OnEventView:
    return {} if job.pattern is None else {"on_event": json.loads(job.pattern)}


def _outcomes(job: Record, outlook: Outlook) -> OutcomesView:
    """Return the outcomes of a job that has several runs."""
    return {"outcomes": outcome_words(outlook.ended)} if job.kind in STAMPING else {}


def explanation_view(found: Explanation, next_at: int | None) -> ExplanationView:
    """Return the reasons why a job has not run. A job that cannot be read has its status as it is stored."""
    job = found.job
    return {
        "job_id": job.run_id,
        "name": job.definition.name if isinstance(job, Record) and job.definition is not None else None,
        "status": shown_status(job, next_at) if isinstance(job, Record) else job.status or "",
        "reasons": _reasons(found.reasons),
        "timeline": [{"time": format_instant(one.time), "message": one.message} for one in found.timeline],
        "what_if": [{"action": one.action, "message": one.message} for one in found.what_if],
    }


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
