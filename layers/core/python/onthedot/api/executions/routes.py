"""Routes of executions: list and show them, extend their leases, end their attempts."""

import random
from typing import Final

from onthedot.api.core.cursors import job_secret, open_cursor, sign_cursor
from onthedot.api.core.fields import PageQuery
from onthedot.api.core.list_secrets import list_secret
from onthedot.api.core.reading import read_model
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.executions import show
from onthedot.api.executions.fields import CompleteFields, ExecutionsQuery, KeepFields, read_heartbeat, read_report
from onthedot.api.executions.views import ExecutionsView, ExecutionView, KeptView, SkippedView
from onthedot.use_cases.attempts.results import short_result, whole_result
from onthedot.use_cases.jobs.list_runs import list_runs, read_run
from onthedot.use_cases.jobs.read_jobs import read_job
from onthedot.use_cases.runs.find_runs import find_runs
from onthedot.use_cases.runs.shown_runs import definition_of_job, shown_runs
from onthedot.use_cases.workers.report_run import complete_run, keep_lease

_CHANCE: Final = random.Random()  # noqa: S311 (jitter of retries, not a secret)
PATIENCE_MS: Final = 8_000
"""Time to store a report. API Gateway waits for 29 s. A worker whose report was not stored in time sends it again."""


def list_executions(context: RequestContext) -> ExecutionsView:
    """Answer a page of a job's runs, the newest first. The own run of a one-off job has the job's id."""
    query = read_model(PageQuery, context.request.query)
    job = read_job(context.engine, context.tenant, context.job_id)
    secret = job_secret(job)
    page = list_runs(context.engine, job, query.limit, open_cursor(secret, query.cursor))
    runs = shown_runs(context.engine, page.items, [job])
    now = context.engine.clock.now()
    return show.executions_view(runs, now, sign_cursor(secret, page.cursor), page.unreadable)


def find_executions(context: RequestContext) -> ExecutionsView:
    """Answer a page of the tenant's runs: of a job, of a worker, running ones, or failed ones."""
    query = read_model(ExecutionsQuery, context.request.query)
    secret = list_secret(context, "executions", query.text())
    cursor = open_cursor(secret, query.cursor)
    page = find_runs(context.engine, context.tenant, query.query(), query.limit, cursor)
    runs = shown_runs(context.engine, page.items)
    now = context.engine.clock.now()
    return show.executions_view(runs, now, sign_cursor(secret, page.cursor), page.unreadable)


def show_execution(context: RequestContext) -> ExecutionView | SkippedView:
    """Answer one run with its whole result, or a range of skipped fire times."""
    run = read_run(context.engine, context.tenant, context.id)
    result = whole_result(context.engine.blobs, run)
    return show.run_view(run, result, context.engine.clock.now(), definition_of_job(context.engine, run))


def keep(context: RequestContext) -> KeptView:
    """Extend the lease of a run, and store how far it is."""
    fields = read_heartbeat(context.request.body)
    run = keep_lease(
        context.engine,
        context.tenant,
        context.id,
        fields.attempt,
        fields.sealed_receipt,
        worker_id=fields.worker_id,
        progress=fields.report,
    )
    return show.kept_view(run)


def complete(context: RequestContext) -> ExecutionView:
    """End an attempt with the outcome that its worker reports."""
    fields = read_report(context.request.body)
    reported = complete_run(
        context.engine,
        context.tenant,
        context.id,
        fields.attempt,
        fields.answer(),
        receipt=fields.sealed_receipt,
        worker_id=fields.worker_id,
        chance=_CHANCE,
        patience_ms=PATIENCE_MS,
    )
    run = reported.run
    definition = reported.definition or definition_of_job(context.engine, run)
    result = short_result(context.engine.blobs, run)
    return show.execution_view(run, result, context.engine.clock.now(), definition)


ROUTES: Final = (
    Route(
        "GET",
        "/v1/jobs/{id}/executions",
        list_executions,
        "List a job's executions, the newest first",
        ExecutionsView,
        query=PageQuery,
        errors=(404, 422),
    ),
    Route(
        "GET",
        "/v1/executions",
        find_executions,
        "List executions of a job or a worker, or running or failed ones",
        ExecutionsView,
        query=ExecutionsQuery,
        errors=(404, 422),
    ),
    Route(
        "GET",
        "/v1/executions/{id}",
        show_execution,
        "Get an execution",
        ExecutionView | SkippedView,
        errors=(404,),
    ),
    Route(
        "POST",
        "/v1/executions/{id}/heartbeat",
        keep,
        "Extend the lease of a running execution, and learn whether it is to stop",
        KeptView,
        body=KeepFields,
        body_may_be_left_out=True,
        for_workers=True,
        errors=(400, 404, 409, 413, 422),
        is_logged=False,
        while_closed=True,
    ),
    Route(
        "POST",
        "/v1/executions/{id}/complete",
        complete,
        "Report the outcome of an attempt; the same report again changes nothing",
        ExecutionView,
        body=CompleteFields,
        for_workers=True,
        errors=(400, 404, 409, 413, 422),
        is_logged=False,
        while_closed=True,
    ),
)
