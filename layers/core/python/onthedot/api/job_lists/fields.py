"""Models of the requests that find jobs."""

from typing import Annotated, Literal

from pydantic import Field

from onthedot.api.core.fields import Fields, JobId, Key, PageQuery, PriorityName
from onthedot.domain import compact_json
from onthedot.domain.runs.listing import FactFilter
from onthedot.domain.runs.records import Kind, Priority
from onthedot.use_cases.jobs.list_jobs import JobQuery

KindName = Literal["one-off", "recurring", "event"]
StatusName = Literal[
    "WAITING",
    "PENDING",
    "DISPATCHED",
    "RUNNING",
    "RETRYING",
    "SUCCEEDED",
    "FAILED",
    "SKIPPED",
    "CANCELLED",
    "PAUSED",
    "ACTIVE",
    "COMPLETED",
]
TagText = Annotated[str, Field(min_length=1, max_length=511)]


class JobFilterFields(Fields):
    """Filters of jobs. A job must pass all of them."""

    status: StatusName | None = None
    kind: KindName | None = None
    priority: PriorityName | None = None
    name: Annotated[Key | None, Field(description="the beginning of the name")] = None
    tag: Annotated[TagText | None, Field(description="the key of a tag, or `key=value`")] = None
    workflow: Annotated[JobId | None, Field(description="the id of a run of a workflow")] = None

    def query(self) -> JobQuery:
        """Return the filters as the use case takes them."""
        facts = FactFilter(
            kind=None if self.kind is None else Kind(self.kind),
            priority=None if self.priority is None else Priority(self.priority),
            workflow=self.workflow,
            name=self.name,
            tag=self.tag,
        )
        return JobQuery(facts, self.status)


class JobsQuery(JobFilterFields, PageQuery):
    """The query of a list of jobs."""


def filter_text(fields: JobFilterFields) -> str:
    """Return the filters as one text. A cursor is valid only with the filters that it was made for."""
    names = sorted(JobFilterFields.model_fields)
    return compact_json.to_text([getattr(fields, name) for name in names])
