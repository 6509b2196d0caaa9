"""Jobs as the API shows them. Times are RFC 3339 in UTC with milliseconds; secrets are not shown."""

import json
from dataclasses import replace

from onthedot.api.executions.show import RETRYING, lateness_ms, maybe_time, retries
from onthedot.api.jobs.views import AcceptedView, ExplanationView, JobView, OnEventView, RetryView, StatusView
from onthedot.api.schedules.show import recurrence_view
from onthedot.api.targets.show import target_view
from onthedot.api.targets.views import RequirementsView
from onthedot.domain.instants import format_instant
from onthedot.domain.runs.dependencies import OnParentFailure
from onthedot.domain.runs.records import SCHEDULED, STAMPING, Definition, Kind, Record, RetryPolicy, Status
from onthedot.domain.targets.types import WorkflowTarget
from onthedot.domain.workers.pools import Requirements
from onthedot.ports import Blobs
from onthedot.use_cases.attempts.results import result_link
from onthedot.use_cases.jobs.explain_job import Explained
from onthedot.use_cases.jobs.list_runs import Outlook
from onthedot.use_cases.jobs.payloads import LINK_SECONDS, load_payload


def shown_status(job: Record, next_at: int | None) -> str:
    """To a user, waiting after a failed or lost attempt is something else than waiting for the first.

    And a schedule has not ended before its last run has had its time, though the job has nothing more to stamp.
    """
    if job.status in SCHEDULED and job.attempt:
        return RETRYING
    over = job.status is Status.COMPLETED and next_at is not None
    return Status.ACTIVE.value if over else job.status.value


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


def job_view(job: Record, definition: Definition, blobs: Blobs, outlook: Outlook) -> JobView:
    """The whole job. A payload that is kept apart is read, and has a link too where the engine has such.

    Raises Unavailable when it cannot be read now.
    """
    if isinstance(definition.target, WorkflowTarget):
        # Its jobs, with whatever is secret in them; GET /v1/workflows/{id} shows them.
        definition = replace(definition, payload=None, payload_ref=None)
    ref = definition.payload_ref
    payload_url = None if ref is None else blobs.link(ref, LINK_SECONDS)
    return {
        **accepted_view(job, outlook.next_at),
        **recurrence_view(job),
        **_on_event(job),
        "tags": dict(definition.tags),
        "target": target_view(definition.target),
        "payload": json.loads(load_payload(blobs, definition)),
        "payload_url": payload_url,
        "retry": _retry(definition.retry),
        "timeout_seconds": definition.timeout_seconds,
        "requirements": requirements_view(definition.requirements),
        "retry_count": 0 if outlook.latest is None else retries(outlook.latest),
        "last_run": _last_run(outlook),
        "finished_at": maybe_time(job.finished_at),
        "lateness_ms": None if outlook.latest is None else lateness_ms(outlook.latest),
        "reason": job.reason,
        "result": job.result,
        "result_url": result_link(blobs, job),
        "dependencies": list(job.parents),
        "on_parent_failure": (job.on_parent_failure or OnParentFailure.FAIL.value) if job.parents else None,
        "workflow_id": job.workflow,
        "key": job.key,
    }


def _on_event(job: Record) -> OnEventView:
    return {} if job.pattern is None else {"on_event": json.loads(job.pattern)}


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


def requirements_view(asked: Requirements) -> RequirementsView:
    return {"capabilities": list(asked.capabilities), "cpu": asked.cpu, "memory_mb": asked.memory_mb}


def _retry(policy: RetryPolicy) -> RetryView:
    return {
        "max_retries": policy.max_retries,
        "backoff_seconds": policy.backoff_seconds,
        "factor": policy.factor,
        "max_backoff_seconds": policy.max_backoff_seconds,
        "jitter": policy.jitter,
    }
