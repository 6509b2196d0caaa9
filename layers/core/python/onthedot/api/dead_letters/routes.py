"""Dead letters: runs that failed for good, and how they are run again."""

from typing import Annotated, Final

from pydantic import Field

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict

from onthedot.api.core.cursors import opened_for, sealed_for
from onthedot.api.core.fields import Fields
from onthedot.api.core.reading import read_fields, read_model
from onthedot.api.core.route import RequestContext, Route
from onthedot.api.executions import show as present_runs
from onthedot.api.jobs.fields import PageQuery
from onthedot.api.jobs.views import ExecutionView
from onthedot.api.workers.fields import RunId
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.use_cases.access.signing_keys import keys_of
from onthedot.use_cases.jobs import redrive as use_case

MAX_REDRIVEN: Final = 500


class RedriveFields(Fields):
    """Either `ids` or `all`. Dead letters are run again ten a second; `left` says to ask again for more."""

    ids: Annotated[list[RunId] | None, Field(min_length=1, max_length=MAX_REDRIVEN)] = None
    all: bool | None = None


class DeadLettersView(TypedDict):
    dead_letters: list[ExecutionView]
    next_cursor: str | None


class RefusedView(TypedDict):
    id: str
    reason: str


class RedrivenView(TypedDict):
    """`left`: there are more; ask again."""

    redriven: int
    refused: list[RefusedView]
    left: bool


def list_dead_letters(context: RequestContext) -> DeadLettersView:
    query = read_model(PageQuery, context.request.query)
    cursor = None if query.cursor is None else opened_for(_secret(context), query.cursor)
    page = use_case.dead_letters(context.engine, context.tenant, query.limit, cursor)
    following = None if page.cursor is None else sealed_for(_secret(context), page.cursor)
    shown = [present_runs.execution_view(run, context.engine.blobs) for run in page.items]
    return {"dead_letters": shown, "next_cursor": following}


def redrive(context: RequestContext) -> RedrivenView:
    fields = _read(context.request.body)
    if fields.ids is None:
        done = use_case.redrive_all(context.engine, context.tenant)
    else:
        done = use_case.redrive(context.engine, context.tenant, fields.ids)
    refused: list[RefusedView] = [{"id": run_id, "reason": reason} for run_id, reason in done.refused]
    return {"redriven": len(done.runs), "refused": refused, "left": done.left}


def _read(body: bytes) -> RedriveFields:
    fields = read_fields(RedriveFields, body)
    if (fields.ids is None) == (fields.all is None):
        raise InvalidRequest(Problem("ids", "give either ids or all"))
    if fields.all is False:
        raise InvalidRequest(Problem("all", "is false; give true, or ids"))
    return fields


def _secret(context: RequestContext) -> str:
    """What seals the tenant's cursors: a value that its readers are not shown. They end when it is rotated."""
    return keys_of(context.engine, context.tenant)[0].secret


ROUTES: Final = (
    Route(
        "GET",
        "/v1/dead-letters",
        list_dead_letters,
        "Runs that failed for good, the latest first",
        DeadLettersView,
        query=PageQuery,
        errors=(422,),
    ),
    Route(
        "POST",
        "/v1/dead-letters/redrive",
        redrive,
        "Run dead letters again, at a bounded rate",
        RedrivenView,
        status=202,
        body=RedriveFields,
        errors=(400, 413, 422),
    ),
)
