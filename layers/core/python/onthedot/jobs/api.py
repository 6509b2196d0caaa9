"""Routes of jobs: submit, show, change, stop and run them."""

from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field

from onthedot.api.errors import ErrorView
from onthedot.api.fields import CalendarInstant, Fields, PriorityName, WorkerId, describe_nulls
from onthedot.api.http import Response
from onthedot.api.reading import SMALL_BODY, read_body, read_no_fields, read_object, read_without_nulls
from onthedot.api.route import RequestContext, Route
from onthedot.api.times import show_time
from onthedot.core.choices import Priority
from onthedot.core.errors import JobNotFound
from onthedot.core.records import Record
from onthedot.jobs import answers
from onthedot.jobs.change import pause_job, resume_job
from onthedot.jobs.contents import short_result, shown_payload
from onthedot.jobs.executions_views import ExecutionView, SkippedView
from onthedot.jobs.explain_job import explain_job
from onthedot.jobs.list_runs import next_fire_of, read_job, read_outlook
from onthedot.jobs.patch import patch_job
from onthedot.jobs.requests import (
    IDEMPOTENCY_HEADER,
    IF_MATCH_HEADER,
    MAX_BODY,
    check_payload,
    read_batch,
    read_job_request,
    read_patch,
    read_version,
)
from onthedot.jobs.run_extra import MOST_BACKFILLED, OwnPayload, backfill, run_now
from onthedot.jobs.shapes import BatchFields, JobFields, PatchFields
from onthedot.jobs.shown_runs import shown_run
from onthedot.jobs.submit import JobRequest, accept_batch, accept_job
from onthedot.workers.assign import assign_to_worker
from onthedot.workflows.stop import cancel_whole, delete_whole


class BackfillFields(Fields):
    """A window in the past. The job gets one execution for each fire time with `from <= time < to`."""

    from_: Annotated[CalendarInstant, Field(alias="from")]
    to: CalendarInstant
    limit: Annotated[int, Field(ge=1, le=MOST_BACKFILLED)] = 100
    priority: PriorityName = "LOW"


class ExecuteFields(Fields):
    """The worker that is to run the job."""

    worker_id: WorkerId


def _with_null_payload(schema: dict[str, Any]) -> None:
    describe_nulls(schema, {"payload"})


class RunFields(Fields):
    """A run in addition to the schedule. Without a payload it gets that of the job."""

    model_config = ConfigDict(json_schema_extra=_with_null_payload)

    payload: Annotated[Any, Field(description="any JSON up to 1 MiB, for this run only")] = None


def submit(context: RequestContext) -> answers.AcceptedView:
    now = context.engine.clock.now()
    read = read_job_request(context.request.body, context.request.header(IDEMPOTENCY_HEADER), now)
    request = replace(read, trace=context.request.trace, by=context.caller)
    job = accept_job(context.engine, context.tenant, request, now)
    return answers.accepted_view(job, next_fire_of(context.engine, job))


def submit_many(context: RequestContext) -> answers.BatchView:
    now = context.engine.clock.now()
    entries = read_batch(context.request.body, context.request.header(IDEMPOTENCY_HEADER), now)
    traced = [
        replace(entry, trace=context.request.trace, by=context.caller) if isinstance(entry, JobRequest) else entry
        for entry in entries
    ]
    accepted = accept_batch(context.engine, context.tenant, traced, now)
    return {"jobs": [_entry_view(context, outcome) for outcome in accepted]}


def show_job(context: RequestContext) -> Response:
    return _whole_job(context, read_job(context.engine, context.tenant, context.job_id))


def show_status(context: RequestContext) -> answers.StatusView:
    job = read_job(context.engine, context.tenant, context.job_id)
    return answers.status_view(job, read_outlook(context.engine, job))


def explain(context: RequestContext) -> answers.ExplanationView:
    found = explain_job(context.engine, context.tenant, context.job_id)
    next_at = next_fire_of(context.engine, found.job) if isinstance(found.job, Record) else None
    return answers.explanation_view(found, next_at)


def change(context: RequestContext) -> Response:
    patch = read_patch(context.request.body)
    if_match = read_version(context.request.header(IF_MATCH_HEADER))
    job = patch_job(context.engine, context.tenant, context.job_id, patch, if_match, context.caller)
    return _whole_job(context, job)


def delete(context: RequestContext) -> answers.DeletedView:
    """Delete the graph of a workflow too."""
    delete_whole(context.engine, context.tenant, context.job_id)
    return {"deleted": True}


def pause(context: RequestContext) -> Response:
    read_no_fields(context.request.body)
    return _whole_job(context, pause_job(context.engine, context.tenant, context.job_id, context.caller))


def resume(context: RequestContext) -> Response:
    read_no_fields(context.request.body)
    return _whole_job(context, resume_job(context.engine, context.tenant, context.job_id, context.caller))


def cancel(context: RequestContext) -> Response:
    """Cancel the graph of a workflow too."""
    read_no_fields(context.request.body)
    return _whole_job(context, cancel_whole(context.engine, context.tenant, context.job_id, context.caller))


def run(context: RequestContext) -> ExecutionView | SkippedView:
    fields = read_body(RunFields, context.request.body, MAX_BODY, nullable={"payload"})
    check_payload({"payload": fields.payload})
    payload = OwnPayload(fields.payload) if "payload" in fields.model_fields_set else None
    made = run_now(context.engine, context.tenant, context.job_id, context.request.trace, payload)
    return shown_run(context.engine, made)


def execute(context: RequestContext) -> ExecutionView | SkippedView:
    worker_id = read_body(ExecuteFields, context.request.body).worker_id
    assigned = assign_to_worker(context.engine, context.tenant, context.job_id, worker_id, context.caller)
    return shown_run(context.engine, assigned)


def fill_back(context: RequestContext) -> answers.BackfilledView:
    fields = read_without_nulls(BackfillFields, read_object(context.request.body, SMALL_BODY))
    done = backfill(
        context.engine,
        context.tenant,
        context.job_id,
        after=fields.from_,
        until=fields.to,
        limit=fields.limit,
        priority=Priority(fields.priority),
    )
    return {
        "created": len(done.created),
        "existing": done.existing,
        "left": done.left,
        "next_from": show_time(done.next_from),
        "executions": [made.run_id for made in done.created],
    }


def _entry_view(context: RequestContext, outcome: Record | Exception) -> answers.AcceptedView | ErrorView:
    if isinstance(outcome, Record):
        return answers.accepted_view(outcome, next_fire_of(context.engine, outcome))
    return answers.refused_view(outcome)


def _whole_job(context: RequestContext, job: Record) -> Response:
    """Send the version in the header `ETag` too, for a client to return as `If-Match`.

    Raise Unavailable when a large payload cannot be read now.
    """
    if job.definition is None:
        raise JobNotFound(job.run_id)
    engine = context.engine
    outlook = read_outlook(engine, job)
    payload = shown_payload(engine.blobs, job.definition)
    result = short_result(engine.blobs, job)
    view = answers.job_view(job, job.definition, outlook, payload, result, engine.clock.now())
    return Response(200, view, {"ETag": f'"{view["version"]}"'})


_CHANGES: Final = (400, 404, 409, 413, 422)

ROUTES: Final = (
    Route(
        "POST",
        "/v1/jobs",
        submit,
        "Schedule a job",
        answers.AcceptedView,
        status=202,
        body=JobFields,
        headers=(IDEMPOTENCY_HEADER,),
        errors=(400, 409, 413, 422),
    ),
    Route(
        "POST",
        "/v1/jobs/batch",
        submit_many,
        "Schedule up to 500 jobs, each accepted or refused on its own",
        answers.BatchView,
        status=202,
        body=BatchFields,
        errors=(400, 413, 422),
    ),
    Route("GET", "/v1/jobs/{id}", show_job, "Get a job", answers.JobView, errors=(404,)),
    Route(
        "PATCH",
        "/v1/jobs/{id}",
        change,
        "Change the coming runs of a job, if it still has the version in If-Match",
        answers.JobView,
        body=PatchFields,
        headers=(IF_MATCH_HEADER,),
        errors=(*_CHANGES, 412),
    ),
    Route("DELETE", "/v1/jobs/{id}", delete, "Delete a job: it never fires again", answers.DeletedView, errors=(404,)),
    Route("GET", "/v1/jobs/{id}/status", show_status, "Get the state of a job", answers.StatusView, errors=(404,)),
    Route(
        "GET", "/v1/jobs/{id}/explain", explain, "Explain why a job has not run", answers.ExplanationView, errors=(404,)
    ),
    Route("POST", "/v1/jobs/{id}/pause", pause, "Pause a job", answers.JobView, errors=_CHANGES),
    Route("POST", "/v1/jobs/{id}/resume", resume, "Resume a paused job", answers.JobView, errors=_CHANGES),
    Route("PUT", "/v1/jobs/{id}/cancel", cancel, "Cancel a job for good", answers.JobView, errors=_CHANGES),
    Route(
        "POST",
        "/v1/jobs/{id}/run",
        run,
        "Run a job now, in addition to its schedule",
        ExecutionView,
        status=202,
        body=RunFields,
        body_may_be_left_out=True,
        errors=_CHANGES,
    ),
    Route(
        "POST",
        "/v1/jobs/{id}/execute",
        execute,
        "Assign a job to one worker, which gets it with its next lease",
        ExecutionView,
        status=202,
        body=ExecuteFields,
        errors=_CHANGES,
    ),
    Route(
        "POST",
        "/v1/jobs/{id}/backfill",
        fill_back,
        "Run a recurring job for the fire times of a past window",
        answers.BackfilledView,
        status=202,
        body=BackfillFields,
        errors=_CHANGES,
    ),
)
