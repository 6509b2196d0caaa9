"""Dead letters: list them, count them by cause, and run them again."""

from typing import Annotated, Final, Literal, NotRequired

from pydantic import Field

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict

from onthedot.api.fields import CalendarInstant, Fields, JobId, Key, PageQuery, QueryInstant, RunId
from onthedot.api.lists import UnreadableView, list_secret, open_cursor, page_view, sign_cursor
from onthedot.api.reading import read_body, read_model
from onthedot.api.route import RequestContext, Route
from onthedot.api.times import show_time
from onthedot.core.clock import format_instant
from onthedot.core.errors import InvalidRequest, Problem
from onthedot.core.listing import END_OF_TIME, Window
from onthedot.core.records import Record
from onthedot.jobs import redrive as use_case
from onthedot.jobs.causes import FailureFilter, cause_of
from onthedot.jobs.dead_letters import Cause, Causes, count_causes, dead_letters
from onthedot.jobs.executions_views import ExecutionView, error_of
from onthedot.jobs.shown_runs import jobs_of, name_of, shown_runs

MAX_REDRIVEN: Final = 500
_FROM: Final = "dead letters that failed at this time or later"
_TO: Final = "dead letters that failed before this time"
CauseText = Annotated[str, Field(min_length=1, max_length=200)]


class FailureFields(Fields):
    """Filters of dead letters, which must match all of them."""

    from_: Annotated[CalendarInstant | None, Field(alias="from", description=_FROM)] = None
    to: Annotated[CalendarInstant | None, Field(description=_TO)] = None
    name: Annotated[Key | None, Field(description="the beginning of the job's name")] = None
    job_id: JobId | None = None
    cause: Annotated[CauseText | None, Field(description="a `cause` of `?by=cause`")] = None

    @property
    def has_filter(self) -> bool:
        return any(given is not None for given in (self.from_, self.to, self.name, self.job_id, self.cause))

    def wanted(self) -> FailureFilter:
        window = Window(self.from_ or 0, END_OF_TIME if self.to is None else self.to)
        if window.is_empty:
            raise InvalidRequest(Problem("to", "is not after from; give a later time"))
        return FailureFilter(window, self.name, self.job_id, self.cause)


class DeadLettersQuery(FailureFields, PageQuery):
    """The query of a list of dead letters, which must match all filters."""

    from_: Annotated[QueryInstant | None, Field(alias="from", description=_FROM)] = None
    to: Annotated[QueryInstant | None, Field(description=_TO)] = None
    by: Annotated[
        Literal["cause", "job"] | None, Field(description="count them by cause or by job, up to `limit` of these")
    ] = None


class RedriveFields(FailureFields):
    """The dead letters to run again: `ids`, or `all` with true, or filters. Ten are run each second."""

    ids: Annotated[
        list[RunId] | None, Field(min_length=1, max_length=MAX_REDRIVEN, description="executions to run again")
    ] = None
    all: Annotated[bool | None, Field(description="run all dead letters again, as many as one call has time for")] = (
        None
    )
    dry_run: Annotated[bool, Field(description="run nothing, and say what would run")] = False
    cursor: Annotated[
        str | None, Field(description="`next_cursor` of the previous answer, with the same other fields")
    ] = None


def read_redrive(body: bytes) -> RedriveFields:
    fields = read_body(RedriveFields, body, nullable=frozenset({"cursor"}))
    if fields.ids is not None and (fields.all is not None or fields.has_filter):
        raise InvalidRequest(Problem("ids", "give either ids, or all, or filters"))
    if fields.ids is None and fields.all is None and not fields.has_filter:
        raise InvalidRequest(Problem("ids", "give either ids, or all, or filters: from, to, name, job_id, cause"))
    if fields.all is False:
        raise InvalidRequest(Problem("all", "is false; give true, or ids"))
    if fields.ids is not None and fields.cursor is not None:
        raise InvalidRequest(Problem("cursor", "is for filters; ids are run in one call"))
    return fields


class DeadLettersView(TypedDict):
    """One page of executions that failed for good. Send `next_cursor` as `cursor` to get the next page.

    A page may be short, or empty, and have a `next_cursor`: a call looks at a bounded number of executions.
    `unreadable` names the executions of this page that this version cannot read, if there are any.
    """

    dead_letters: list[ExecutionView]
    next_cursor: str | None
    unreadable: NotRequired[list[UnreadableView]]


class CauseView(TypedDict):
    """The executions that failed for good in the same way.

    `successes_since` counts the executions of the same recurring and event jobs that succeeded after the latest
    failure. `job_id`, `name` and `execution_id` are those of the latest, `jobs` is the number of jobs. `over_time` has
    the number of failures in each of 24 equal parts of the time from `from` to `to`.
    """

    cause: str
    count: int
    latest: str | None
    oldest: str
    successes_since: int
    job_id: str
    name: str | None
    jobs: int
    execution_id: str
    over_time: list[int]


_Times = TypedDict("_Times", {"from": str, "to": str})


class CausesView(_Times):
    """The causes of dead letters, or the jobs that have them, the most frequent first.

    `from` and `to` are the time that was looked at.

    `truncated`: a call looks at the latest 2,000 dead letters and the runs of 40 jobs, and there are more.
    """

    causes: list[CauseView]
    truncated: bool


class RedriveRunView(TypedDict):
    """An execution that a redrive would run again."""

    execution_id: str
    job_id: str
    name: str | None
    fire_time: str
    error: str | None
    cause: str


class RefusedView(TypedDict):
    """An execution that is not run again, and why."""

    id: str
    reason: str


class RedrivenView(TypedDict):
    """The outcome of a redrive. `redriven` is the number of executions that run again.

    `undecided` names executions that may run again: the store did not answer in time. When `left` is true there are
    more: call again with `next_cursor` as `cursor`, so that an execution that has failed again is not run once more. A
    dry run says in `matched` how many would run again, and in `runs` the first 20 of them.
    """

    redriven: int
    refused: list[RefusedView]
    undecided: list[RefusedView]
    left: bool
    next_cursor: str | None
    matched: NotRequired[int]
    runs: NotRequired[list[RedriveRunView]]


MOST_SHOWN: Final = 20
"""Runs that the answer to a dry run shows."""


def _cause_view(cause: Cause, causes: Causes) -> CauseView:
    return {
        "cause": cause.text,
        "count": cause.count,
        "latest": show_time(cause.latest.finished_at),
        "oldest": format_instant(cause.oldest_at),
        "successes_since": cause.successes_since,
        "job_id": cause.latest.job_id,
        "name": cause.name,
        "jobs": len(cause.job_ids),
        "execution_id": cause.latest.run_id,
        "over_time": cause.over_time(causes.since, causes.until),
    }


def _run_view(run: Record, job: Record | None) -> RedriveRunView:
    return {
        "execution_id": run.run_id,
        "job_id": run.job_id,
        "name": name_of(job),
        "fire_time": format_instant(run.fire_time),
        "error": error_of(run),
        "cause": cause_of(run),
    }


def list_dead_letters(context: RequestContext) -> DeadLettersView | CausesView:
    query = read_model(DeadLettersQuery, context.request.query)
    if query.by is not None and query.cursor is not None:
        raise InvalidRequest(Problem("cursor", "is for lists; counts have one page"))
    wanted = query.wanted()
    if query.by is not None:
        causes = count_causes(context.engine, context.tenant, wanted, query.limit, by_job=query.by == "job")
        return {
            "from": format_instant(causes.since),
            "to": format_instant(causes.until),
            "causes": [_cause_view(cause, causes) for cause in causes.causes],
            "truncated": causes.truncated,
        }
    secret = list_secret(context, "dead-letters", query)
    page = dead_letters(context.engine, context.tenant, wanted, query.limit, open_cursor(secret, query.cursor))
    return page_view(DeadLettersView, "dead_letters", shown_runs(context.engine, page.items), page, secret)


def redrive(context: RequestContext) -> RedrivenView:
    fields = read_redrive(context.request.body)
    secret = list_secret(context, "redrive", fields)
    engine, tenant = context.engine, context.tenant
    if fields.ids is not None:
        done = use_case.redrive(engine, tenant, fields.ids, dry_run=fields.dry_run)
    else:
        cursor = open_cursor(secret, fields.cursor)
        done = use_case.redrive_matching(engine, tenant, fields.wanted(), cursor, dry_run=fields.dry_run)
    view: RedrivenView = {
        "redriven": 0 if done.dry else len(done.runs),
        "refused": [{"id": run_id, "reason": reason} for run_id, reason in done.refused],
        "undecided": [{"id": run_id, "reason": reason} for run_id, reason in done.undecided],
        "left": done.cursor is not None,
        "next_cursor": sign_cursor(secret, done.cursor),
    }
    if done.dry:
        shown = done.runs[:MOST_SHOWN]
        jobs = jobs_of(engine, shown)
        view |= {"matched": len(done.runs), "runs": [_run_view(run, jobs.get(run.job_id)) for run in shown]}
    return view


ROUTES: Final = (
    Route(
        "GET",
        "/v1/dead-letters",
        list_dead_letters,
        "List executions that failed for good, the latest first, or count them by cause or job",
        DeadLettersView | CausesView,
        query=DeadLettersQuery,
        errors=(422,),
    ),
    Route(
        "POST",
        "/v1/dead-letters/redrive",
        redrive,
        "Run dead letters again, ten a second",
        RedrivenView,
        status=202,
        body=RedriveFields,
        errors=(400, 413, 422),
    ),
)
