"""Routes of lists of jobs."""

from typing import Final

from onthedot.api.core.cursors import open_cursor, sign_cursor
from onthedot.api.core.reading import read_model
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.job_lists import show
from onthedot.api.job_lists.fields import JobFilterFields, JobsQuery, filter_text
from onthedot.api.job_lists.views import JobsView, ListedJobView
from onthedot.domain.runs.records import STAMPING
from onthedot.use_cases.access.signing_keys import keys_of
from onthedot.use_cases.jobs.list_jobs import ListedJob, latest_outcomes, list_jobs


def list_all(context: RequestContext) -> JobsView:
    """Answer a page of the tenant's jobs that pass the filters."""
    query = read_model(JobsQuery, context.request.query)
    secret = cursor_secret(context, query)
    cursor = open_cursor(secret, query.cursor)
    page = list_jobs(context.engine, context.tenant, query.query(), query.limit, cursor)
    jobs = [_view(context, listed) for listed in page.items]
    return show.jobs_view(jobs, sign_cursor(secret, page.cursor), page.unreadable)


def cursor_secret(context: RequestContext, filters: JobFilterFields) -> str:
    """Return the secret for pages of this list: the tenant's signing key, which viewers are not shown, and the filters.

    Cursors become invalid when the tenant rotates the key.
    """
    return f"{keys_of(context.engine, context.tenant)[0].secret}/jobs/{filter_text(filters)}"


def _view(context: RequestContext, listed: ListedJob) -> ListedJobView:
    outcomes = latest_outcomes(context.engine, listed.job) if listed.job.kind in STAMPING else None
    return show.listed_job_view(listed, outcomes)


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
)
