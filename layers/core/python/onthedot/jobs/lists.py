"""Lists of jobs, and acts on many of them at once."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal, NotRequired

from pydantic import Field

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict

from onthedot.api.errors import ErrorView
from onthedot.api.fields import ALL_WORKFLOWS, Fields, JobId, Key, PageQuery, PriorityName, WorkflowId
from onthedot.api.lists import UnreadableView, list_secret, open_cursor, page_view, sign_cursor
from onthedot.api.reading import read_model, read_object, read_without_nulls
from onthedot.api.route import RequestContext, Route
from onthedot.api.times import show_time
from onthedot.core.choices import Priority
from onthedot.core.clock import format_instant
from onthedot.core.errors import InvalidRequest, OnthedotError, Problem
from onthedot.core.records import STAMPING, Kind, Record
from onthedot.jobs.answers import refused_view
from onthedot.jobs.bulk import BulkAction, BulkStep, act_on_ids, act_on_jobs, count_ids, count_jobs
from onthedot.jobs.executions_api import RunStatusName
from onthedot.jobs.executions_views import OutcomeView, last_outcome_view, outcome_words, reason_of
from onthedot.jobs.facts import FactFilter, facts_of
from onthedot.jobs.list_jobs import JobQuery, ListedJob, list_jobs
from onthedot.jobs.list_runs import read_ended
from onthedot.schedules.schedule import CronSchedule
from onthedot.targets.types import one_line

KindName = Literal["one-off", "recurring", "event"]
JobStatusName = Literal[RunStatusName, "ACTIVE", "COMPLETED"]
MAX_IDS: Final = 500
MAX_BULK_BODY: Final = 128 * 1024
TagText = Annotated[str, Field(min_length=1, max_length=511)]


class JobFilterFields(Fields):
    """Filters of jobs. A job must match all of them."""

    status: JobStatusName | None = None
    kind: KindName | None = None
    priority: PriorityName | None = None
    name: Annotated[Key | None, Field(description="the beginning of the name")] = None
    full_name: Annotated[Key | None, Field(description="the whole name")] = None
    tag: Annotated[TagText | None, Field(description="the key of a tag, or `key=value`")] = None
    workflow: Annotated[
        WorkflowId | None,
        Field(description="the id of a run of a workflow; `*`: all workflows, without their jobs"),
    ] = None

    def query(self) -> JobQuery:
        facts = FactFilter(
            kind=None if self.kind is None else Kind(self.kind),
            priority=None if self.priority is None else Priority(self.priority),
            workflow=None if self.workflow == ALL_WORKFLOWS else self.workflow,
            is_workflow=True if self.workflow == ALL_WORKFLOWS else None,
            name=self.name,
            full_name=self.full_name,
            tag=self.tag,
        )
        return JobQuery(facts, self.status)


class JobsQuery(JobFilterFields, PageQuery):
    """The query of a list of jobs."""


class BulkFields(Fields):
    """An act on many jobs: either on all that pass a filter, or on some by their ids.

    Repeat the call with the `next_cursor` of its answer as `cursor`, and the same other fields, until it is null.
    """

    action: BulkAction
    filter: Annotated[JobFilterFields | None, Field(description="at least one filter")] = None
    ids: Annotated[list[JobId] | None, Field(min_length=1, max_length=MAX_IDS)] = None
    dry_run: Annotated[bool, Field(description="only count the jobs")] = False
    cursor: Annotated[str | None, Field(description="`next_cursor` of the previous answer")] = None


class ListedJobView(TypedDict):
    """A job in a list. `target` is one line, without secrets. `key` is the name of the job in its workflow.

    `at` is the time of a one-off job. A recurring job has `cron` with its `timezone`, or `every`, and in `outcomes` the
    statuses of its latest 12 ended runs, the latest first. So has an event job. `last_outcome` is the latest run that
    ended.
    """

    job_id: str
    name: str | None
    kind: str
    status: str
    reason: str | None
    priority: str
    pool: str
    target: str | None
    tags: dict[str, str]
    at: NotRequired[str]
    cron: NotRequired[str]
    timezone: NotRequired[str]
    every: NotRequired[int]
    next_fire_time: str | None
    created_at: str
    workflow_id: str | None
    key: str | None
    last_outcome: OutcomeView | None
    outcomes: NotRequired[list[str]]


class JobsView(TypedDict):
    """One page of jobs, the latest first. Send `next_cursor` as `cursor` to get the next page.

    A page may be empty and have a `next_cursor`: a call looks at a bounded number of jobs. `unreadable` names the jobs
    of this page that this version cannot read, if there are any.
    """

    jobs: list[ListedJobView]
    next_cursor: str | None
    unreadable: NotRequired[list[UnreadableView]]


class BulkFailureView(TypedDict):
    """A job on which a call did not act, and why."""

    id: str
    code: str
    message: str


class BulkView(TypedDict):
    """One step of an act on many jobs. `failed` is the length of `failures`.

    `matched` counts the jobs that this step found. There is more to do while `next_cursor` is not null.
    """

    matched: int
    done: int
    failed: int
    failures: list[BulkFailureView]
    next_cursor: str | None


def list_all(context: RequestContext) -> JobsView:
    query = read_model(JobsQuery, context.request.query)
    secret = list_secret(context, "jobs", query)
    page = list_jobs(context.engine, context.tenant, query.query(), query.limit, open_cursor(secret, query.cursor))
    jobs = [listed_job_view(listed, read_ended(context.engine, listed.job)) for listed in page.items]
    return page_view(JobsView, "jobs", jobs, page, secret)


def act_on_many(context: RequestContext) -> BulkView:
    """Act on many jobs, a bounded number in this call, or only count them."""
    fields = read_bulk(context.request.body)
    secret = list_secret(context, "bulk", fields)
    step = _step(context, fields, open_cursor(secret, fields.cursor))
    failures = [_failure(job_id, error) for job_id, error in step.failures]
    return {
        "matched": step.matched,
        "done": step.done,
        "failed": len(failures),
        "failures": failures,
        "next_cursor": sign_cursor(secret, step.cursor),
    }


def read_bulk(body: bytes) -> BulkFields:
    document = read_object(body, MAX_BULK_BODY)
    fields = read_without_nulls(BulkFields, document, {"cursor"})
    if (fields.filter is None) == (fields.ids is None):
        raise InvalidRequest(Problem("filter", "give either filter or ids"))
    if fields.filter is not None and fields.filter == JobFilterFields():
        raise InvalidRequest(Problem("filter", "is empty; give at least one filter, such as kind"))
    return fields


def _step(context: RequestContext, fields: BulkFields, cursor: str | None) -> BulkStep:
    engine, tenant, action = context.engine, context.tenant, fields.action
    if fields.filter is not None:
        query = fields.filter.query()
        if fields.dry_run:
            return count_jobs(engine, tenant, query, cursor)
        return act_on_jobs(engine, tenant, action, query, cursor, by=context.caller)
    ids = list(dict.fromkeys(fields.ids or ()))
    if fields.dry_run:
        return count_ids(engine, tenant, ids)
    return act_on_ids(engine, tenant, action, ids, cursor, by=context.caller)


def listed_job_view(listed: ListedJob, ended: Sequence[Record]) -> ListedJobView:
    job, facts = listed.job, facts_of(listed.job)
    view: ListedJobView = {
        "job_id": job.job_id,
        "name": facts.name,
        "kind": job.kind.value,
        "status": listed.status,
        "reason": reason_of(job),
        "priority": job.priority.value,
        "pool": job.pool,
        "target": None if job.definition is None else one_line(job.definition.target),
        "tags": dict(facts.tags),
        "next_fire_time": show_time(listed.next_at),
        "created_at": format_instant(job.created_at),
        "workflow_id": job.workflow,
        "key": job.key,
        "last_outcome": last_outcome_view(ended),
    }
    if job.kind not in STAMPING:
        return {**view, "at": format_instant(job.fire_time)}
    view["outcomes"] = outcome_words(ended)
    rule = None if job.recurrence is None else job.recurrence.schedule.rule
    if isinstance(rule, CronSchedule):
        view |= {"cron": rule.expression, "timezone": rule.timezone}
    elif rule is not None:
        view["every"] = rule.seconds
    return view


def _failure(job_id: str, error: OnthedotError) -> BulkFailureView:
    """Answer as a call for this job alone would."""
    body: ErrorView = refused_view(error)
    return {"id": job_id, "code": body["error"]["code"], "message": body["error"]["message"]}


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
