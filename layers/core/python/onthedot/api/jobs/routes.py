"""A job: shown, changed, stopped, run beside its schedule."""

from typing import Final

from onthedot.api.core.body import read_object
from onthedot.api.core.http import Response
from onthedot.api.core.reading import SMALL_BODY, nulls, read_model, read_nothing
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.executions import show as present_runs
from onthedot.api.jobs import show as present
from onthedot.api.jobs import views
from onthedot.api.jobs.fields import BackfillFields, PatchFields
from onthedot.api.jobs.patches import IF_MATCH_HEADER, read_patch, read_version
from onthedot.domain.errors import InvalidRequest, JobNotFound
from onthedot.domain.runs.records import Priority, Record
from onthedot.use_cases.jobs.change_job import pause_job, resume_job
from onthedot.use_cases.jobs.explain_job import explain_job
from onthedot.use_cases.jobs.list_runs import next_fire_of, read_outlook
from onthedot.use_cases.jobs.patch_job import patch_job
from onthedot.use_cases.jobs.read_jobs import read_job
from onthedot.use_cases.jobs.run_extra import backfill, run_now
from onthedot.use_cases.workflows.stop_workflow import cancel_whole, delete_whole


def show_job(context: RequestContext) -> Response:
    return _whole(context, read_job(context.engine, context.tenant, context.job_id))


def show_status(context: RequestContext) -> views.StatusView:
    job = read_job(context.engine, context.tenant, context.job_id)
    return present.status_view(job, read_outlook(context.engine, job))


def explain(context: RequestContext) -> views.ExplanationView:
    explained = explain_job(context.engine, context.tenant, context.job_id)
    return present.explanation_view(explained, next_fire_of(context.engine, explained.job))


def change(context: RequestContext) -> Response:
    patch = read_patch(context.request.body)
    if_match = read_version(context.request.header(IF_MATCH_HEADER))
    return _whole(context, patch_job(context.engine, context.tenant, context.job_id, patch, if_match))


def delete(context: RequestContext) -> views.DeletedView:
    delete_whole(context.engine, context.tenant, context.job_id)
    return {"deleted": True}


def pause(context: RequestContext) -> Response:
    read_nothing(context.request.body)
    return _whole(context, pause_job(context.engine, context.tenant, context.job_id))


def resume(context: RequestContext) -> Response:
    read_nothing(context.request.body)
    return _whole(context, resume_job(context.engine, context.tenant, context.job_id))


def cancel(context: RequestContext) -> Response:
    read_nothing(context.request.body)
    return _whole(context, cancel_whole(context.engine, context.tenant, context.job_id))


def run(context: RequestContext) -> views.ExecutionView:
    read_nothing(context.request.body)
    return present_runs.execution_view(run_now(context.engine, context.tenant, context.job_id), context.engine.blobs)


def fill_back(context: RequestContext) -> views.BackfilledView:
    document = read_object(context.request.body, SMALL_BODY)
    if problems := nulls(BackfillFields, document, frozenset()):
        raise InvalidRequest(*problems)
    fields = read_model(BackfillFields, document)
    done = backfill(
        context.engine,
        context.tenant,
        context.job_id,
        after=fields.from_,
        until=fields.to,
        limit=fields.limit,
        priority=Priority(fields.priority),
    )
    ids = [run.run_id for run in done.created]
    return {"created": len(ids), "existing": done.existing, "left": done.left, "executions": ids}


def _whole(context: RequestContext, job: Record) -> Response:
    """The job with all that belongs to it; its version also as the header that `If-Match` asks back."""
    if job.definition is None:
        raise JobNotFound(job.run_id)
    view = present.job_view(job, job.definition, context.engine.blobs, read_outlook(context.engine, job))
    return Response(200, view, {"ETag": f'"{view["version"]}"'})


_CHANGES: Final = (400, 404, 409, 413, 422)

ROUTES: Final = (
    Route("GET", "/v1/jobs/{id}", show_job, "The whole job", views.JobView, errors=(404,)),
    Route(
        "PATCH",
        "/v1/jobs/{id}",
        change,
        "Change what has not started, if the job still has the version that was seen",
        views.JobView,
        body=PatchFields,
        headers=(IF_MATCH_HEADER,),
        errors=(*_CHANGES, 412),
    ),
    Route("DELETE", "/v1/jobs/{id}", delete, "Delete a job: it never fires again", views.DeletedView, errors=(404,)),
    Route("GET", "/v1/jobs/{id}/status", show_status, "Where a job stands", views.StatusView, errors=(404,)),
    Route("GET", "/v1/jobs/{id}/explain", explain, "Why a job has not run", views.ExplanationView, errors=(404,)),
    Route("POST", "/v1/jobs/{id}/pause", pause, "Hold a job", views.JobView, errors=_CHANGES),
    Route("POST", "/v1/jobs/{id}/resume", resume, "Go on with a paused job", views.JobView, errors=_CHANGES),
    Route("PUT", "/v1/jobs/{id}/cancel", cancel, "Stop a job for good", views.JobView, errors=_CHANGES),
    Route(
        "POST",
        "/v1/jobs/{id}/run",
        run,
        "Run a job now, beside its schedule",
        views.ExecutionView,
        status=202,
        errors=_CHANGES,
    ),
    Route(
        "POST",
        "/v1/jobs/{id}/backfill",
        fill_back,
        "Run a recurring job for the fire times of a past window",
        views.BackfilledView,
        status=202,
        body=BackfillFields,
        errors=_CHANGES,
    ),
)
