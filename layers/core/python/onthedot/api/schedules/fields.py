"""Models of schedules: of a new job, a change, a preview and a forecast."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from onthedot.api.core.fields import CalendarInstant, Digits, Fields
from onthedot.domain.errors import Problem
from onthedot.domain.schedules.eventbridge import rate_seconds
from onthedot.domain.schedules.schedule import MAX_JITTER_SECONDS
from onthedot.domain.schedules.spread import EXAMPLE_ID, plain_expression
from onthedot.domain.schedules.time_window import MAX_AHEAD_MS
from onthedot.domain.schedules.zones import zone

MAX_GRACE_SECONDS: Final = 30 * 86_400
MAX_PREVIEW: Final = 1_000
MAX_EVERY: Final = MAX_AHEAD_MS // 1000
RULE_FIELDS: Final = ("cron", "every")
CRON_FIELDS: Final = ("timezone", "dst")
ONLY_CRON: Final = "works only with cron; add cron or remove it"
CRON_OR_AT: Final = "works only with cron, or with a local time as at; add one of them or remove it"
RECURRENCE_FIELDS: Final = ("start_at", "end_at", "max_runs", "jitter_seconds", "misfire", "overlap")


def _expression(text: str) -> str:
    plain_expression(text, EXAMPLE_ID)
    return text


def _seconds(value: Any) -> Any:
    """Return the seconds of a rate. Other values are checked as numbers."""
    return rate_seconds(value) if isinstance(value, str) else value


def _known_zone(name: str) -> str:
    return zone(name).name


CronText = Annotated[str, AfterValidator(_expression), WithJsonSchema({"type": "string", "maxLength": 255})]
Timezone = Annotated[str, AfterValidator(_known_zone)]
Every = Annotated[
    int,
    BeforeValidator(_seconds),
    Field(ge=1, le=MAX_EVERY),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": MAX_EVERY},
                {"type": "string", "pattern": r"^rate\([1-9][0-9]* (second|minute|hour|day)s?\)$"},
            ]
        }
    ),
]
Jitter = Annotated[int, Field(ge=0, le=MAX_JITTER_SECONDS)]
MaxRuns = Annotated[int, Field(ge=1, le=2**53)]


class DstFields(Fields):
    """The policy when clocks change: for fire times that they skip (`gap`) and that they show twice (`overlap`)."""

    gap: Literal["run_after", "skip"] = "run_after"
    overlap: Literal["once", "twice"] = "once"


class MisfireFields(Fields):
    """The policy for fire times that were missed by more than `grace_seconds`."""

    policy: Literal["run_latest", "run_all", "skip"] = "run_latest"
    grace_seconds: Annotated[int, Field(ge=0, le=MAX_GRACE_SECONDS)] = 60


class ScheduleFields(Fields):
    """A schedule: `cron` in a time zone, or `every` with a number of seconds."""

    cron: Annotated[
        CronText | None,
        Field(description="5 fields, an alias such as @daily, or EventBridge's cron(0/15 9-17 ? * MON-FRI *)"),
    ] = None
    every: Annotated[
        Every | None, Field(description="seconds from one fire time to the next, or a rate such as rate(5 minutes)")
    ] = None
    timezone: Annotated[Timezone | None, Field(description="IANA name, with cron (UTC) or a local at")] = None
    dst: Annotated[DstFields | None, Field(description="with cron or a local at: fire times when clocks change")] = None
    start_at: Annotated[CalendarInstant | None, Field(description="no fire time before it; `every` counts from it")] = (
        None
    )
    end_at: Annotated[CalendarInstant | None, Field(description="no fire time after it")] = None
    jitter_seconds: Annotated[Jitter | None, Field(description="each run starts up to so many seconds later (0)")] = (
        None
    )


class RecurrenceFields(ScheduleFields):
    """A schedule with the policies of its job."""

    max_runs: Annotated[MaxRuns | None, Field(description="the job ends after so many runs")] = None
    misfire: MisfireFields | None = None
    overlap: Annotated[
        Literal["allow", "skip", "queue"] | None,
        Field(description="policy when the previous run has not ended (allow)"),
    ] = None


class PreviewFields(ScheduleFields):
    """A schedule to preview."""

    count: Annotated[int, Field(ge=1, le=MAX_PREVIEW)] = 10
    after: Annotated[CalendarInstant | None, Field(description="as if the schedule were submitted then (now)")] = None


class ForecastQuery(Fields):
    """The query of a forecast: its length."""

    minutes: Annotated[Digits, Field(ge=1, le=1_500)] = 15


def schedule_problems(document: Mapping[str, Any], only_cron: str = CRON_OR_AT) -> list[Problem]:
    """Return a problem for each field of a schedule that needs `cron` or `every`, when the document has neither.

    `only_cron` is the advice for the fields that need `cron`.
    """
    problems = []
    if not any(name in document for name in RULE_FIELDS):
        advice = "is for recurring jobs only; add cron or every, or remove it"
        problems += [Problem(name, advice) for name in RECURRENCE_FIELDS if name in document]
    if "cron" not in document and "at" not in document:
        problems += [Problem(name, only_cron) for name in CRON_FIELDS if name in document]
    return problems
