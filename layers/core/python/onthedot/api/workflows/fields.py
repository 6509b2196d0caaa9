"""Models of the requests about workflows."""

import re
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from onthedot.api.core.fields import At, PriorityName, Text
from onthedot.api.jobs.fields import AT_MEANS, Delay, Description, IdempotencyKey, Tags, WorkFields
from onthedot.api.schedules.fields import RecurrenceFields
from onthedot.domain.workflows.graph import MAX_JOBS

_KEY: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}", re.ASCII)


def _key(text: str) -> str:
    if not _KEY.fullmatch(text):
        raise ValueError("is no key; give 1 to 64 of A-Z, a-z, 0-9, _, . and -")
    return text


class NodeFields(WorkFields):
    """A job of the workflow. With `at` or `delay` it waits for that time as well as for the jobs in `depends_on`."""

    key: Annotated[str, AfterValidator(_key)]
    depends_on: Annotated[
        list[str] | None, Field(max_length=MAX_JOBS, description="keys of the jobs that must end before this one runs")
    ] = None


class WorkflowFields(RecurrenceFields):
    """A new workflow. It is accepted with all of its jobs or not at all.

    Give at most one of `at`, `delay`, `cron` and `every`. Without any it starts now. Each fire time of a recurring
    workflow makes new jobs.
    """

    name: Text | None = None
    description: Description | None = None
    tags: Tags = Field(default_factory=dict)
    at: Annotated[At | None, Field(description=AT_MEANS)] = None
    delay: Annotated[Delay | None, Field(description="seconds from now")] = None
    priority: Annotated[PriorityName, Field(description="of the run that makes the jobs")] = "MEDIUM"
    idempotency_key: IdempotencyKey | None = None
    jobs: Annotated[list[NodeFields], Field(min_length=1, max_length=MAX_JOBS)]


class HeadFields(WorkflowFields):
    """A new workflow whose entries of `jobs` are not checked here, because they are read one by one."""

    jobs: list[Any]
