"""The *when* of a recurring job, as fields: of a new job, of a change, of a preview."""

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from onthedot.api.core.fields import CalendarInstant, Fields
from onthedot.domain.errors import Problem
from onthedot.domain.schedules.cron import parse_cron
from onthedot.domain.schedules.schedule import MAX_JITTER_SECONDS
from onthedot.domain.schedules.time_window import MAX_AHEAD_MS
from onthedot.domain.schedules.zones import zone

MAX_GRACE_SECONDS: Final = 30 * 86_400
RULES: Final = ("cron", "every")
OF_CRON: Final = ("timezone", "dst")
OF_RECURRING: Final = ("start_at", "end_at", "max_runs", "jitter_seconds", "misfire", "overlap")


def _expression(text: str) -> str:
    parse_cron(text)
    return text


def _known_zone(name: str) -> str:
    return zone(name).name


Cron = Annotated[str, AfterValidator(_expression), WithJsonSchema({"type": "string", "maxLength": 255})]
Timezone = Annotated[str, AfterValidator(_known_zone)]
Every = Annotated[int, Field(ge=1, le=MAX_AHEAD_MS // 1000)]
Jitter = Annotated[int, Field(ge=0, le=MAX_JITTER_SECONDS)]
MaxRuns = Annotated[int, Field(ge=1, le=2**53)]


class DstFields(Fields):
    """What fixed times do when clocks change."""

    gap: Literal["run_after", "skip"] = "run_after"
    overlap: Literal["once", "twice"] = "once"


class MisfireFields(Fields):
    """What becomes of fire times that were missed by more than the grace."""

    policy: Literal["run_latest", "run_all", "skip"] = "run_latest"
    grace_seconds: Annotated[int, Field(ge=0, le=MAX_GRACE_SECONDS)] = 60


class ScheduleFields(Fields):
    """When something fires again and again: `cron` in a time zone, or `every` so many seconds."""

    cron: Annotated[Cron | None, Field(description="5 fields or an alias such as @daily")] = None
    every: Annotated[Every | None, Field(description="seconds from one fire to the next")] = None
    timezone: Annotated[Timezone | None, Field(description="IANA name, for cron (UTC)")] = None
    dst: Annotated[DstFields | None, Field(description="for cron: times that do not exist or happen twice")] = None
    start_at: Annotated[CalendarInstant | None, Field(description="no fire before; `every` counts from it")] = None
    end_at: Annotated[CalendarInstant | None, Field(description="no fire after")] = None
    jitter_seconds: Annotated[Jitter | None, Field(description="each fire is up to so much later (0)")] = None


class RecurrenceFields(ScheduleFields):
    """A schedule, and what its job does about it."""

    max_runs: Annotated[MaxRuns | None, Field(description="ends after so many runs")] = None
    misfire: MisfireFields | None = None
    overlap: Annotated[
        Literal["allow", "skip", "queue"] | None,
        Field(description="when the previous run has not ended (allow)"),
    ] = None


def one_of(document: dict[str, Any], names: tuple[str, ...]) -> list[Problem]:
    """That more than one of a choice is given, said of each."""
    given = [name for name in names if name in document]
    if len(given) < 2:
        return []
    return [Problem(name, f"only one of {', '.join(given)} may be given; keep one of them") for name in given]


def out_of_place(document: dict[str, Any]) -> list[Problem]:
    """Fields of a schedule where there is none that they could belong to."""
    problems = []
    if not any(name in document for name in RULES):
        advice = "is for recurring jobs only; add cron or every, or remove it"
        problems += [Problem(name, advice) for name in OF_RECURRING if name in document]
    if "cron" not in document:
        problems += [
            Problem(name, "works only with cron; add cron or remove it") for name in OF_CRON if name in document
        ]
    return problems
