"""Models of the requests about jobs. `/openapi.json` describes these models."""

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, ConfigDict, Field

from onthedot.api.core.fields import (
    At,
    CalendarInstant,
    Fields,
    JobId,
    Key,
    PriorityName,
    Text,
    WorkerId,
    describe_nulls,
    printable,
)
from onthedot.api.events.fields import Pattern
from onthedot.api.gates.fields import GateNames, StartWithinSeconds
from onthedot.api.schedules.fields import RecurrenceFields
from onthedot.api.targets.fields import Capability, TargetFields
from onthedot.api.targets.http_fields import Url
from onthedot.domain.schedules.time_window import MAX_AHEAD_MS
from onthedot.domain.workers.pools import LONGEST_PULL, Requirements
from onthedot.use_cases.jobs.run_extra import MOST_BACKFILLED

AT_MEANS: Final = "RFC 3339 with offset, epoch seconds, or a local time without offset in `timezone`"
MAX_DESCRIPTION: Final = 1_000
MAX_TAGS: Final = 20
MAX_REQUIRED: Final = 20
MAX_BATCH: Final = 500
MAX_DEPENDENCIES: Final = 100
CLEARABLE: Final = frozenset({"name", "description", "start_at", "end_at", "max_runs", "gates", "start_within_seconds"})
"""Fields that a change removes from the job when they are null."""

IdempotencyKey = Annotated[Key, AfterValidator(printable)]
Description = Annotated[str, Field(max_length=MAX_DESCRIPTION)]
Tags = Annotated[dict[Key, Text], Field(max_length=MAX_TAGS)]
Delay = Annotated[float, Field(ge=0, le=MAX_AHEAD_MS // 1000)]
TimeoutSeconds = Annotated[int, Field(ge=1, le=LONGEST_PULL)]
PolicyName = Literal["fail", "run", "skip"]


class RetryFields(Fields):
    """Retries after a failed attempt.

    The wait after failure number n is `backoff_seconds * factor**(n-1)` seconds, at most `max_backoff_seconds`. With
    `jitter` it is a random part of that time.
    """

    max_retries: Annotated[int, Field(ge=0, le=100)] = 3
    backoff_seconds: Annotated[float, Field(ge=0, le=86_400)] = 2
    factor: Annotated[float, Field(ge=1, le=10)] = 2
    max_backoff_seconds: Annotated[float, Field(ge=0, le=86_400)] = 900
    jitter: bool = True


class RequirementsFields(Fields):
    """The requirements of the job. It goes to the smallest pool that meets them."""

    capabilities: Annotated[list[Capability], Field(max_length=MAX_REQUIRED)] = Field(default_factory=list)
    cpu: Annotated[float, Field(ge=0)] = 0
    memory_mb: Annotated[int, Field(ge=0)] = 0
    storage_mb: Annotated[int, Field(ge=0)] = 0

    def requirements(self) -> Requirements:
        """Return the requirements, each capability once."""
        return Requirements(tuple(dict.fromkeys(self.capabilities)), self.cpu, self.memory_mb, self.storage_mb)


class WorkFields(Fields):
    """The fields that jobs of their own and jobs of a workflow share. Give either `target` or `callback_url`."""

    name: Text | None = None
    description: Annotated[Description | None, Field(description="text for people; no attempt reads it")] = None
    tags: Tags = Field(default_factory=dict)
    at: Annotated[At | None, Field(description=AT_MEANS)] = None
    delay: Annotated[Delay | None, Field(description="seconds from now")] = None
    target: TargetFields | None = None
    callback_url: Annotated[Url | None, Field(description="short for an http target")] = None
    payload: Annotated[Any, Field(description="any JSON up to 1 MiB")] = None
    priority: PriorityName = "MEDIUM"
    retry: RetryFields = RetryFields()
    timeout_seconds: Annotated[TimeoutSeconds, Field(description="of one attempt, as far as a pool allows it")] = 60
    requirements: RequirementsFields = RequirementsFields()
    gates: GateNames = Field(default_factory=list)
    start_within_seconds: StartWithinSeconds | None = None
    on_parent_failure: Annotated[
        PolicyName | None, Field(description="policy when a job that this one waits for does not succeed (fail)")
    ] = None


class JobFields(WorkFields, RecurrenceFields):
    """A new job. Give at most one of `at`, `delay`, `cron`, `every` and `on_event`. Without any it runs now.

    Give either `target` or `callback_url`. With `cron` or `every` the job recurs, and the other fields of a schedule
    may be given. With `on_event` it runs for each event that matches, and its `payload` may pick values from the
    event: `{"name": "$.detail.object.key"}`. With `dependencies` it waits until those jobs have ended, and gets their
    results beside its payload.
    """

    on_event: Pattern | None = None
    dependencies: Annotated[
        list[JobId] | None, Field(max_length=MAX_DEPENDENCIES, description="jobs that must end before this one runs")
    ] = None
    idempotency_key: Annotated[
        IdempotencyKey | None, Field(description="the same key and body again make no second job")
    ] = None


class BatchFields(Fields):
    """Many new jobs. Each is accepted or refused on its own."""

    jobs: Annotated[list[JobFields], Field(min_length=1, max_length=MAX_BATCH)]


def _with_clearable(schema: dict[str, Any]) -> None:
    describe_nulls(schema, CLEARABLE)


class PatchFields(RecurrenceFields):
    """A change of a job. Fields that are left out keep their values.

    `retry`, `dst` and `misfire` may be given in part. `target`, `tags`, `requirements` and `on_event` replace the old
    value. `at` and `delay` are for jobs that run once, the fields of a schedule for recurring jobs, `on_event` for jobs
    that wait for events. null removes `name`, `description`, `start_at`, `end_at`, `max_runs`, `gates` and
    `start_within_seconds`.
    """

    model_config = ConfigDict(json_schema_extra=_with_clearable)

    name: Text | None = None
    description: Description | None = None
    tags: Tags | None = None
    at: At | None = None
    delay: Delay | None = None
    on_event: Pattern | None = None
    target: TargetFields | None = None
    callback_url: Url | None = None
    payload: Any = None
    priority: PriorityName | None = None
    retry: RetryFields | None = None
    timeout_seconds: TimeoutSeconds | None = None
    requirements: RequirementsFields | None = None
    gates: GateNames | None = None
    start_within_seconds: StartWithinSeconds | None = None


class BackfillFields(Fields):
    """A window in the past. The job gets one execution for each fire time with `from <= time < to`."""

    from_: Annotated[CalendarInstant, Field(alias="from")]
    to: CalendarInstant
    limit: Annotated[int, Field(ge=1, le=MOST_BACKFILLED)] = 100
    priority: PriorityName = "LOW"


class ExecuteFields(Fields):
    """The worker that is to run the job."""

    worker_id: WorkerId


def _with_null_payload(schema: dict[str, Any]) -> None:
    describe_nulls(schema, {"payload"})


class RunFields(Fields):
    """A run beside the schedule. Without a payload it gets that of the job."""

    model_config = ConfigDict(json_schema_extra=_with_null_payload)

    payload: Annotated[Any, Field(description="any JSON up to 1 MiB, for this run only")] = None
