"""The route table. Each function parses, calls one use case, and shows what came of it."""

from typing import Any, Final

import onthedot
from onthedot.api import present, views
from onthedot.api.models import JobFields
from onthedot.api.openapi import describe
from onthedot.api.requests import IDEMPOTENCY_HEADER, read_job_request
from onthedot.api.route import Context, Route
from onthedot.api.times import format_instant, trouble_with
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.ids import job_id_for_key
from onthedot.domain.run import Run
from onthedot.use_cases.delete_job import delete_job
from onthedot.use_cases.payloads import load_payload
from onthedot.use_cases.read_jobs import read_job
from onthedot.use_cases.submit_job import JobRequest, submit_job


def submit(context: Context) -> views.AcceptedView:
    request = read_job_request(context.request.body, context.request.header(IDEMPOTENCY_HEADER))
    trouble = None if request.at is None else trouble_with(request.at, context.engine.clock.now())
    if trouble is None:
        return present.accepted_view(submit_job(context.engine, context.tenant, request))
    earlier = _earlier(context, request)
    if earlier is None:
        raise InvalidRequest(Problem("at", trouble))
    return present.accepted_view(earlier)


def _earlier(context: Context, request: JobRequest) -> Run | None:
    """A key outlives its job's time: a late retry of a create is answered like the first, not by its old `at`."""
    if request.idempotency_key is None:
        return None
    run = context.engine.store.get(job_id_for_key(context.tenant, request.idempotency_key))
    return run if run is not None and run.fingerprint == request.fingerprint else None


def show_job(context: Context) -> views.JobView:
    run = _read(context)
    return present.job_view(run, load_payload(context.engine.blobs, run.definition))


def show_status(context: Context) -> views.StatusView:
    return present.status_view(_read(context))


def delete(context: Context) -> views.DeletedView:
    delete_job(context.engine, context.tenant, context.id)
    return {"deleted": True}


def list_executions(context: Context) -> views.ExecutionsView:
    """A one-off job is its run, so there is one."""
    return {"executions": [present.execution_view(_read(context))]}


def show_execution(context: Context) -> views.ExecutionView:
    """A one-off job's execution has the job's id."""
    return present.execution_view(_read(context))


def show_health(context: Context) -> views.HealthView:
    return {"status": "ok", "version": onthedot.__version__, "time": format_instant(context.engine.clock.now())}


def show_description(_: Context) -> Any:
    return describe(ROUTES)


def _read(context: Context) -> Run:
    return read_job(context.engine, context.tenant, context.id)


ROUTES: Final = (
    Route(
        "POST",
        "/v1/jobs",
        submit,
        "Schedule a job",
        views.AcceptedView,
        status=202,
        body=JobFields,
        errors=(400, 409, 413, 422),
    ),
    Route("GET", "/v1/jobs/{id}", show_job, "The whole job", views.JobView, errors=(404,)),
    Route("DELETE", "/v1/jobs/{id}", delete, "Delete a job: it never fires again", views.DeletedView, errors=(404,)),
    Route("GET", "/v1/jobs/{id}/status", show_status, "Where a job stands", views.StatusView, errors=(404,)),
    Route("GET", "/v1/jobs/{id}/executions", list_executions, "A job's runs", views.ExecutionsView, errors=(404,)),
    Route("GET", "/v1/executions/{id}", show_execution, "One run", views.ExecutionView, errors=(404,)),
    Route("GET", "/v1/health", show_health, "Whether the API answers", views.HealthView, is_open=True),
    Route("GET", "/openapi.json", show_description, "This description", dict[str, Any], is_open=True),
)
