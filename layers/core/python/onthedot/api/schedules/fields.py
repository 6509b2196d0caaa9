"""Models of schedules: of a new job, a change, a preview and a forecast."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from onthedot.api.core.fields import CalendarInstant, Digits, Fields
from onthedot.domain.errors import Problem
from onthedot.domain.schedules.cron import parse_cron
from onthedot.domain.schedules.schedule import MAX_JITTER_SECONDS
from onthedot.domain.schedules.time_window import MAX_AHEAD_MS
from onthedot.domain.schedules.zones import zone

MAX_GRACE_SECONDS: Final = 30 * 86_400
MAX_PREVIEW: Final = 1_000
RULE_FIELDS: Final = ("cron", "every")
CRON_FIELDS: Final = ("timezone", "dst")
RECURRENCE_FIELDS: Final = ("start_at", "end_at", "max_runs", "jitter_seconds", "misfire", "overlap")


def _expression(text: str) -> str:
    parse_cron(text)
    return text


def _known_zone(name: str) -> str:
    return zone(name).name


CronText = Annotated[str, AfterValidator(_expression), WithJsonSchema({"type": "string", "maxLength": 255})]
Timezone = Annotated[str, AfterValidator(_known_zone)]
Every = Annotated[int, Field(ge=1, le=MAX_AHEAD_MS // 1000)]
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

    cron: Annotated[CronText | None, Field(description="5 fields or an alias such as @daily")] = None
    every: Annotated[Every | None, Field(description="seconds from one fire time to the next")] = None
    timezone: Annotated[Timezone | None, Field(description="IANA name, with cron (UTC)")] = None
    dst: Annotated[DstFields | None, Field(description="with cron: fire times when clocks change")] = None
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

    minutes: Annotated[Digits, Field(ge=1, le=60)] = 15


def schedule_problems(document: Mapping[str, Any]) -> list[Problem]:
    """Return a problem for each field of a schedule that needs `cron` or `every`, when the document has neither."""
    problems = []
    if not any(name in document for name in RULE_FIELDS):
        advice = "is for recurring jobs only; add cron or every, or remove it"
        problems += [Problem(name, advice) for name in RECURRENCE_FIELDS if name in document]
    if "cron" not in document:
        advice = "works only with cron; add cron or remove it"
        problems += [Problem(name, advice) for name in CRON_FIELDS if name in document]
    return problems
