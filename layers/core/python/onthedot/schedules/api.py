"""Schedules: preview one before it is submitted, and forecast the runs of all that are stored."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, NotRequired

from pydantic import Field

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict

from onthedot.api.fields import CalendarInstant, Digits, Fields
from onthedot.api.reading import SMALL_BODY, choice_problems, null_problems, read_model, read_object, read_shape
from onthedot.api.route import RequestContext, Route
from onthedot.api.times import show_time
from onthedot.core.clock import format_instant
from onthedot.core.errors import InvalidRequest, Problem
from onthedot.jobs.requests import schedule_problems
from onthedot.jobs.shapes import new_fields, shape
from onthedot.schedules.fields import ONLY_CRON, RULE_FIELDS, cron_with_h, new_schedule
from onthedot.schedules.preview import FireTime, preview
from onthedot.schedules.schedule import CronSchedule, check_start, next_fire, no_fire_problem
from onthedot.schedules.zones import LAST_INSTANT
from onthedot.statistics.forecast import HeavyJob, forecast

MAX_PREVIEW: Final = 1_000
_COUNT: Final = 10

PreviewFields: Final = shape(
    "PreviewFields",
    "A schedule to preview.",
    {
        **new_fields("cron", "every", "timezone", "dst", "start_at", "end_at", "jitter_seconds"),
        "count": NotRequired[Annotated[int, Field(ge=1, le=MAX_PREVIEW, json_schema_extra={"default": _COUNT})]],
        "after": NotRequired[
            Annotated[CalendarInstant, Field(description="as if the schedule were submitted then (now)")]
        ],
    },
)


class ForecastQuery(Fields):
    """The query of a forecast: its length."""

    minutes: Annotated[Digits, Field(ge=1, le=1_500)] = 15


class FireTimeView(TypedDict):
    """A fire time in UTC and in the schedule's time zone. `note` says how a change of the clocks or jitter moves it."""

    time: str
    local: str
    note: str | None


class PreviewView(TypedDict):
    """The next fire times of a schedule.

    For an expression with `H` they are those of `example`: the id of each job chooses its own values.
    """

    fire_times: list[FireTimeView]
    example: NotRequired[str]


class HeavyJobView(TypedDict):
    """A job with many runs in a minute."""

    job_id: str
    name: str | None
    runs: int


class MinuteView(TypedDict):
    """The number of runs that are scheduled for a minute, and up to 3 jobs with the most of them."""

    time: str
    runs: int
    heaviest: NotRequired[list[HeavyJobView]]


class ForecastView(TypedDict):
    """The scheduled runs of each coming minute. When `truncated` is true there are more than were counted.

    From `complete_until` on, some runs that wait already were not counted. Runs of recurring jobs were.
    """

    minutes: list[MinuteView]
    truncated: bool
    complete_until: str | None


def read_preview(document: dict[str, Any], now: int) -> PreviewView:
    """Raise InvalidRequest, also for a schedule that never fires again."""
    problems = [
        *choice_problems(document, RULE_FIELDS),
        *schedule_problems(document, ONLY_CRON),
        *null_problems(PreviewFields, document, frozenset()),
    ]
    if not any(name in document for name in RULE_FIELDS):
        problems = [Problem("cron", "is missing; give cron or every")]
    if problems:
        raise InvalidRequest(*problems)
    fields = read_shape(PreviewFields, document)
    after = fields.get("after", now)
    schedule = new_schedule(fields, after)
    check_start(schedule, max(now, after))
    # The preview must end where the calendar does.
    bounded = replace(schedule, end_at=LAST_INSTANT - 1 if schedule.end_at is None else schedule.end_at)
    fires = preview(bounded, after, fields.get("count", _COUNT))
    if not fires and next_fire(bounded, now) is None:
        raise InvalidRequest(no_fire_problem(schedule, now))
    view: PreviewView = {"fire_times": [_fire_time(fire, schedule.jitter_seconds) for fire in fires]}
    if cron_with_h(fields) and isinstance(schedule.rule, CronSchedule):
        view["example"] = schedule.rule.expression
    return view


def preview_schedule(context: RequestContext) -> PreviewView:
    return read_preview(read_object(context.request.body, SMALL_BODY), context.engine.clock.now())


def show_forecast(context: RequestContext) -> ForecastView:
    query = read_model(ForecastQuery, context.request.query)
    found = forecast(context.engine, context.tenant, query.minutes)
    return {
        "minutes": [_minute(start, runs, found.heaviest.get(start, ())) for start, runs in found.minutes.items()],
        "truncated": found.truncated,
        "complete_until": show_time(found.complete_until),
    }


def _fire_time(fire: FireTime, jitter_seconds: int) -> FireTimeView:
    jitter = f"jitter: starts up to {jitter_seconds} s later" if jitter_seconds else None
    notes = [note for note in (fire.note, jitter) if note]
    return {"time": format_instant(fire.at), "local": fire.local, "note": "; ".join(notes) or None}


def _minute(start: int, runs: int, heaviest: Sequence[HeavyJob]) -> MinuteView:
    view: MinuteView = {"time": format_instant(start), "runs": runs}
    if runs:
        view["heaviest"] = [{"job_id": job.job_id, "name": job.name, "runs": job.runs} for job in heaviest]
    return view


ROUTES: Final = (
    Route(
        "POST",
        "/v1/schedules/preview",
        preview_schedule,
        "Preview the next fire times of a schedule, with notes where clocks change",
        PreviewView,
        body=PreviewFields,
        errors=(400, 413, 422),
        for_viewers=True,
        is_logged=False,
        while_closed=True,
    ),
    Route(
        "GET",
        "/v1/forecast",
        show_forecast,
        "Count the runs of each coming minute: waiting, sent to a queue, or expected of recurring jobs",
        ForecastView,
        query=ForecastQuery,
        errors=(422,),
    ),
)
