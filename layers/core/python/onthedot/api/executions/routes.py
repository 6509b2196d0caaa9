"""Runs, in REST executions: a job's, and one by its id."""

from typing import Final

from onthedot.api.core.cursors import opened, sealed
from onthedot.api.core.reading import read_model
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.executions import show as present_runs
from onthedot.api.jobs import views
from onthedot.api.jobs.fields import PageQuery
from onthedot.use_cases.jobs.list_runs import list_runs, read_run
from onthedot.use_cases.jobs.read_jobs import read_job


def list_executions(context: RequestContext) -> views.ExecutionsView:
    """Newest first; a one-off job's own run has the job's id."""
    query = read_model(PageQuery, context.request.query)
    job = read_job(context.engine, context.tenant, context.job_id)
    page = list_runs(context.engine, job, query.limit, opened(job, query.cursor))
    return present_runs.executions_view(page, context.engine.blobs, sealed(job, page.cursor))


def show_execution(context: RequestContext) -> views.ExecutionView | views.SkippedView:
    return present_runs.whole_run_view(read_run(context.engine, context.tenant, context.id), context.engine.blobs)


ROUTES: Final = (
    Route(
        "GET",
        "/v1/jobs/{id}/executions",
        list_executions,
        "A job's runs, newest first",
        views.ExecutionsView,
        query=PageQuery,
        errors=(404, 422),
    ),
    Route(
        "GET",
        "/v1/executions/{id}",
        show_execution,
        "One run",
        views.ExecutionView | views.SkippedView,
        errors=(404,),
    ),
)
