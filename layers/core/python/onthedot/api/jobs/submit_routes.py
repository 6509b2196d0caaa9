"""Jobs come in: one, or many at once."""

from typing import Final

from onthedot.api.core.http import Request
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.jobs import show as present
from onthedot.api.jobs import views
from onthedot.api.jobs.batches import read_batch, read_entry, refusal_view, requests_in
from onthedot.api.jobs.fields import BatchFields, JobFields
from onthedot.api.jobs.requests import IDEMPOTENCY_HEADER, read_job_request
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.runs.records import Record
from onthedot.use_cases.jobs.accept_jobs import accept_batch, accept_job
from onthedot.use_cases.jobs.list_runs import next_fire_of
from onthedot.use_cases.jobs.submit_job import JobRequest


def submit(context: RequestContext) -> views.AcceptedView:
    now = context.engine.clock.now()
    request = read_job_request(context.request.body, context.request.header(IDEMPOTENCY_HEADER), now)
    job = accept_job(context.engine, context.tenant, request, now)
    return present.accepted_view(job, next_fire_of(context.engine, job))


def submit_many(context: RequestContext) -> views.BatchView:
    _refuse_one_key_for_all(context.request)
    now = context.engine.clock.now()
    read = [read_entry(entry, now) for entry in read_batch(context.request.body)]
    accepted = iter(accept_batch(context.engine, context.tenant, requests_in(read), now))
    outcomes = [next(accepted) if isinstance(entry, JobRequest) else entry for entry in read]
    return {"jobs": [_entry_view(context, outcome) for outcome in outcomes]}


def _entry_view(context: RequestContext, outcome: Record | Exception) -> views.AcceptedView | views.ErrorView:
    if isinstance(outcome, Record):
        return present.accepted_view(outcome, next_fire_of(context.engine, outcome))
    return refusal_view(outcome)


def _refuse_one_key_for_all(request: Request) -> None:
    if request.header(IDEMPOTENCY_HEADER) is not None:
        message = "cannot stand for many jobs; give each of them its own idempotency_key"
        raise InvalidRequest(Problem(IDEMPOTENCY_HEADER, message))


ROUTES: Final = (
    Route(
        "POST",
        "/v1/jobs",
        submit,
        "Schedule a job",
        views.AcceptedView,
        status=202,
        body=JobFields,
        headers=(IDEMPOTENCY_HEADER,),
        errors=(400, 409, 413, 422),
    ),
    Route(
        "POST",
        "/v1/jobs/batch",
        submit_many,
        "Schedule up to 500 jobs, each taken or refused on its own",
        views.BatchView,
        status=202,
        body=BatchFields,
        errors=(400, 413, 422),
    ),
)
