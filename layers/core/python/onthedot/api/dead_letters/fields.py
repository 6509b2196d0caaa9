"""Models of the requests about dead letters."""

from typing import Annotated, Final, Literal

from pydantic import Field

from onthedot.api.core.fields import CalendarInstant, Fields, JobId, Key, PageQuery, QueryInstant, RunId
from onthedot.api.core.reading import read_body
from onthedot.domain import compact_json
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.reports.failure_filter import FailureFilter
from onthedot.domain.runs.dead_letters import END_OF_TIME, Window

MAX_REDRIVEN: Final = 500
_FROM: Final = "dead letters that failed at this time or later"
_TO: Final = "dead letters that failed before this time"
_NAME: Final = "the beginning of the job's name"
_CAUSE: Final = "a `cause` of `?by=cause`"
CauseText = Annotated[str, Field(min_length=1, max_length=200)]


class DeadLettersQuery(PageQuery):
    """The query of a list of dead letters. One must pass all filters."""

    from_: Annotated[QueryInstant | None, Field(alias="from", description=_FROM)] = None
    to: Annotated[QueryInstant | None, Field(description=_TO)] = None
    name: Annotated[Key | None, Field(description=_NAME)] = None
    job_id: JobId | None = None
    cause: Annotated[CauseText | None, Field(description=_CAUSE)] = None
    by: Annotated[
        Literal["cause", "job"] | None, Field(description="count them by cause or by job, up to `limit` of these")
    ] = None

    def wanted(self) -> FailureFilter:
        """Return the filter. Raise InvalidRequest."""
        if self.by is not None and self.cursor is not None:
            raise InvalidRequest(Problem("cursor", "is for lists; counts have one page"))
        return _filter(self.from_, self.to, self.name, self.job_id, self.cause)


class RedriveFields(Fields):
    """The dead letters to run again: `ids`, or `all` with true, or filters. Ten are run each second."""

    ids: Annotated[
        list[RunId] | None, Field(min_length=1, max_length=MAX_REDRIVEN, description="executions to run again")
    ] = None
    all: Annotated[bool | None, Field(description="run all dead letters again, as many as one call has time for")] = (
        None
    )
    from_: Annotated[CalendarInstant | None, Field(alias="from", description=_FROM)] = None
    to: Annotated[CalendarInstant | None, Field(description=_TO)] = None
    name: Annotated[Key | None, Field(description=_NAME)] = None
    job_id: JobId | None = None
    cause: Annotated[CauseText | None, Field(description=_CAUSE)] = None
    dry_run: Annotated[bool, Field(description="run nothing, and say what would run")] = False
    cursor: Annotated[
        str | None, Field(description="`next_cursor` of the answer before, with the same other fields")
    ] = None

    @property
    def has_filter(self) -> bool:
        """Whether there is a filter."""
        return any(given is not None for given in (self.from_, self.to, self.name, self.job_id, self.cause))

    def wanted(self) -> FailureFilter:
        """Return the filter. Raise InvalidRequest."""
        return _filter(self.from_, self.to, self.name, self.job_id, self.cause)


def read_redrive(body: bytes) -> RedriveFields:
    """Return the fields of a redrive. Raise ApiError and InvalidRequest."""
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


def filter_text(wanted: FailureFilter) -> str:
    """Return a filter as one text. A cursor is valid only with the filter that it was made for."""
    window = wanted.window
    return compact_json.to_text([window.since, window.until, wanted.name, wanted.job_id, wanted.cause])


def _filter(
    since: int | None, until: int | None, name: str | None, job_id: str | None, cause: str | None
) -> FailureFilter:
    window = Window(since or 0, END_OF_TIME if until is None else until)
    if window.is_empty:
        raise InvalidRequest(Problem("to", "is not after from; give a later time"))
    return FailureFilter(window, name, job_id, cause)
