"""Models of the requests that find jobs."""

from typing import Annotated, Final, Literal

from pydantic import Field

from onthedot.api.core.body import read_object
from onthedot.api.core.fields import ALL_WORKFLOWS, Fields, JobId, Key, PageQuery, PriorityName, WorkflowId
from onthedot.api.core.reading import read_without_nulls
from onthedot.api.executions.fields import RunStatusName
from onthedot.domain import compact_json
from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.runs.listing import FactFilter
from onthedot.domain.runs.records import Kind, Priority
from onthedot.use_cases.jobs.list_jobs import JobQuery

KindName = Literal["one-off", "recurring", "event"]
JobStatusName = Literal[RunStatusName, "ACTIVE", "COMPLETED"]
BulkName = Literal["pause", "resume", "cancel", "delete", "run"]
MAX_IDS: Final = 500
MAX_BULK_BODY: Final = 128 * 1024
TagText = Annotated[str, Field(min_length=1, max_length=511)]


class JobFilterFields(Fields):
    """Filters of jobs. A job must pass all of them."""

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
        """Return the filters as the use case takes them."""
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

    action: BulkName
    filter: Annotated[JobFilterFields | None, Field(description="at least one filter")] = None
    ids: Annotated[list[JobId] | None, Field(min_length=1, max_length=MAX_IDS)] = None
    dry_run: Annotated[bool, Field(description="only count the jobs")] = False
    cursor: Annotated[str | None, Field(description="`next_cursor` of the answer before")] = None

    @property
    def jobs(self) -> JobFilterFields | list[str]:
        """The filter, or the ids, each of them once."""
        return list(dict.fromkeys(self.ids or ())) if self.filter is None else self.filter


def read_bulk(body: bytes) -> BulkFields:
    """Return the fields of an act on many jobs. Raise ApiError and InvalidRequest."""
    document = read_object(body, MAX_BULK_BODY)
    fields = read_without_nulls(BulkFields, document, {"cursor"})
    if (fields.filter is None) == (fields.ids is None):
        raise InvalidRequest(Problem("filter", "give either filter or ids"))
    if fields.filter is not None and fields.filter == JobFilterFields():
        raise InvalidRequest(Problem("filter", "is empty; give at least one filter, such as kind"))
    return fields


def filter_text(fields: JobFilterFields) -> str:
    """Return the filters as one text. A cursor is valid only with the filters that it was made for."""
    names = sorted(JobFilterFields.model_fields)
    return compact_json.to_text([getattr(fields, name) for name in names])
