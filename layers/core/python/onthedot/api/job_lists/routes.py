"""Routes of lists of jobs, and of acts on many jobs."""

from typing import Final

from onthedot.api.core.cursors import open_cursor, sign_cursor
from onthedot.api.core.list_secrets import list_secret
from onthedot.api.core.reading import read_model
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.job_lists import show
from onthedot.api.job_lists.fields import BulkFields, JobFilterFields, JobsQuery, filter_text, read_bulk
from onthedot.api.job_lists.views import BulkView, JobsView, ListedJobView
from onthedot.use_cases.jobs.bulk import BulkAction, BulkActor, BulkStep, act_on_ids, act_on_jobs, count_ids, count_jobs
from onthedot.use_cases.jobs.list_jobs import ListedJob, list_jobs
from onthedot.use_cases.jobs.list_runs import read_ended


def list_all(context: RequestContext) -> JobsView:
    """Answer a page of the tenant's jobs that pass the filters."""
    query = read_model(JobsQuery, context.request.query)
    secret = list_secret(context, "jobs", filter_text(query))
    cursor = open_cursor(secret, query.cursor)
    page = list_jobs(context.engine, context.tenant, query.query(), query.limit, cursor)
    jobs = [_view(context, listed) for listed in page.items]
    return show.jobs_view(jobs, sign_cursor(secret, page.cursor), page.unreadable)


def act_on_many(context: RequestContext) -> BulkView:
    """Act on many jobs, a bounded number in this call, or only count them."""
    fields = read_bulk(context.request.body)
    what = f"bulk/{fields.action}/{fields.dry_run}"
    secret = list_secret(context, what, _text_of(fields.jobs))
    step = _step(context, fields, open_cursor(secret, fields.cursor))
    return show.bulk_view(step, sign_cursor(secret, step.cursor))


def _step(context: RequestContext, fields: BulkFields, cursor: str | None) -> BulkStep:
    engine, tenant, jobs = context.engine, context.tenant, fields.jobs
    actor = BulkActor(BulkAction(fields.action), tenant, context.caller)
    if isinstance(jobs, JobFilterFields):
        if fields.dry_run:
            return count_jobs(engine, tenant, jobs.query(), cursor)
        return act_on_jobs(engine, actor, jobs.query(), cursor)
    if fields.dry_run:
        return count_ids(engine, tenant, jobs)
    return act_on_ids(engine, actor, jobs, cursor)


def _text_of(jobs: JobFilterFields | list[str]) -> str:
    return filter_text(jobs) if isinstance(jobs, JobFilterFields) else ",".join(jobs)


def _view(context: RequestContext, listed: ListedJob) -> ListedJobView:
    return show.listed_job_view(listed, read_ended(context.engine, listed.job))


ROUTES: Final = (
    Route(
        "GET",
        "/v1/jobs",
        list_all,
        "List jobs, the latest first, by filters",
        JobsView,
        query=JobsQuery,
        errors=(422,),
    ),
    Route(
        "POST",
        "/v1/jobs/bulk",
        act_on_many,
        "Pause, resume, cancel, delete or run many jobs, or count them",
        BulkView,
        body=BulkFields,
        errors=(400, 413, 422),
    ),
)
