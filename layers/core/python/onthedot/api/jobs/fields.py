"""The bodies of requests as pydantic models: what is checked here is what `/openapi.json` promises."""

import re
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import AfterValidator, ConfigDict, Field

from onthedot.api.core.fields import CalendarInstant, Digits, Fields, Instant, Key, Text, offer_null_for, printable
from onthedot.api.events.fields import Pattern
from onthedot.api.schedules.fields import RecurrenceFields, ScheduleFields
from onthedot.api.targets.fields import Capability, TargetFields
from onthedot.api.targets.http_fields import Url
from onthedot.domain.schedules.time_window import MAX_AHEAD_MS
from onthedot.domain.workers.pools import LONGEST_PULL, Requirements
from onthedot.use_cases.jobs.run_extra import MOST_BACKFILLED

MAX_TAGS: Final = 20
MAX_REQUIRED: Final = 20
MAX_BATCH: Final = 500
MAX_DEPENDENCIES: Final = 100
MAX_PREVIEW: Final = 1_000
MAX_PAGE: Final = 100
_JOB_ID: Final = re.compile(r"[A-Za-z0-9_.:-]+", re.ASCII)
CLEARABLE: Final = frozenset({"name", "start_at", "end_at", "max_runs"})
"""What a change takes away when it says null."""


def _job_id(text: str) -> str:
    if not _JOB_ID.fullmatch(text):
        raise ValueError("is not the id of a job; give one as the API answered it")
    return text


JobId = Annotated[str, Field(min_length=1, max_length=128), AfterValidator(_job_id)]
IdempotencyKey = Annotated[Key, AfterValidator(printable)]
Tags = Annotated[dict[Key, Text], Field(max_length=MAX_TAGS)]
Delay = Annotated[float, Field(ge=0, le=MAX_AHEAD_MS // 1000)]
TimeoutSeconds = Annotated[int, Field(ge=1, le=LONGEST_PULL)]
PriorityName = Literal["HIGH", "MEDIUM", "LOW"]
PolicyName = Literal["fail", "run", "skip"]
PRIORITY_NAMES: Final[tuple[PriorityName, ...]] = get_args(PriorityName)


class RetryFields(Fields):
    """When to try again after a failure: `backoff_seconds * factor**n`, capped, with full jitter."""

    max_retries: Annotated[int, Field(ge=0, le=100)] = 3
    backoff_seconds: Annotated[float, Field(ge=0, le=86_400)] = 2
    factor: Annotated[float, Field(ge=1, le=10)] = 2
    max_backoff_seconds: Annotated[float, Field(ge=0, le=86_400)] = 900
    jitter: bool = True


class RequirementsFields(Fields):
    """What the job asks of its worker: it goes to the smallest pool that has it."""

    capabilities: Annotated[list[Capability], Field(max_length=MAX_REQUIRED)] = Field(default_factory=list)
    cpu: Annotated[float, Field(ge=0)] = 0
    memory_mb: Annotated[int, Field(ge=0)] = 0

    def requirements(self) -> Requirements:
        return Requirements(tuple(dict.fromkeys(self.capabilities)), self.cpu, self.memory_mb)


class WorkFields(Fields):
    """What a job is, by itself or in a workflow. Exactly one of `target` and `callback_url`."""

    name: Text | None = None
    tags: Tags = Field(default_factory=dict)
    at: Annotated[Instant | None, Field(description="RFC 3339 with offset, or epoch seconds")] = None
    delay: Annotated[Delay | None, Field(description="seconds from now")] = None
    target: TargetFields | None = None
    callback_url: Annotated[Url | None, Field(description="short for an http target")] = None
    payload: Annotated[Any, Field(description="any JSON up to 1 MiB")] = None
    priority: PriorityName = "MEDIUM"
    retry: RetryFields = RetryFields()
    timeout_seconds: Annotated[TimeoutSeconds, Field(description="of one attempt, as far as a pool allows it")] = 60
    requirements: RequirementsFields = RequirementsFields()
    on_parent_failure: Annotated[
        PolicyName | None, Field(description="when one that it waits for did not succeed (fail)")
    ] = None


class JobFields(WorkFields, RecurrenceFields):
    """At most one of `at`, `delay`, `cron`, `every` and `on_event`; none: now. Exactly one of `target` and
    `callback_url`.

    With `cron` or `every` the job recurs, and the other fields of a schedule may be given. With `on_event` it runs for
    each event that matches, and its `payload` may pick from the event: `{"name": "$.detail.object.key"}`. With
    `dependencies` it waits until those jobs have ended, and is given their results beside its payload.
    """

    on_event: Pattern | None = None
    dependencies: Annotated[
        list[JobId] | None, Field(max_length=MAX_DEPENDENCIES, description="jobs whose end it waits for")
    ] = None
    idempotency_key: IdempotencyKey | None = None


class BatchFields(Fields):
    """Each job is taken or refused on its own."""

    jobs: Annotated[list[JobFields], Field(min_length=1, max_length=MAX_BATCH)]


def _with_clearable(schema: dict[str, Any]) -> None:
    offer_null_for(schema, CLEARABLE)


class PatchFields(RecurrenceFields):
    """What is left out stays as it is. `retry`, `dst` and `misfire` may be given in part; `target`, `tags`,
    `requirements` and `on_event` whole.

    `at` and `delay` are for jobs that run once, the fields of a schedule for recurring ones, `on_event` for those that
    wait for events. null takes away `name`,
    `start_at`, `end_at` and `max_runs`.
    """

    model_config = ConfigDict(json_schema_extra=_with_clearable)

    name: Text | None = None
    tags: Tags | None = None
    at: Instant | None = None
    delay: Delay | None = None
    on_event: Pattern | None = None
    target: TargetFields | None = None
    callback_url: Url | None = None
    payload: Any = None
    priority: PriorityName | None = None
    retry: RetryFields | None = None
    timeout_seconds: TimeoutSeconds | None = None
    requirements: RequirementsFields | None = None


class BackfillFields(Fields):
    """One run for each fire time with `from <= time < to`, in the past."""

    from_: Annotated[CalendarInstant, Field(alias="from")]
    to: CalendarInstant
    limit: Annotated[int, Field(ge=1, le=MOST_BACKFILLED)] = 100
    priority: PriorityName = "LOW"


class PreviewFields(ScheduleFields):
    """`after`: as if the schedule were submitted then (now)."""

    count: Annotated[int, Field(ge=1, le=MAX_PREVIEW)] = 10
    after: CalendarInstant | None = None


class PageQuery(Fields):
    limit: Annotated[Digits, Field(ge=1, le=MAX_PAGE)] = 20
    cursor: Annotated[str | None, Field(description="`next_cursor` of the page before")] = None


class ForecastQuery(Fields):
    minutes: Annotated[Digits, Field(ge=1, le=60)] = 15
