"""Statistics and the overview, as the API shows them."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, Final, NotRequired, cast

from pydantic import BeforeValidator, Field, WithJsonSchema
from typing_extensions import TypedDict

import onthedot
from onthedot.access.ports import Principal
from onthedot.api.fields import Fields, PriorityName, QueryInstant
from onthedot.api.reading import read_model
from onthedot.api.route import RequestContext, Route
from onthedot.api.times import show_time
from onthedot.core.clock import format_instant
from onthedot.core.records import Definition, Record
from onthedot.engine import Engine
from onthedot.gates.limits import TenantLimits
from onthedot.jobs.dead_letters import Cause
from onthedot.jobs.executions_views import error_of
from onthedot.statistics.counters import BOUNDS_MS, STEPS_SECONDS, Counters, added, in_steps, step_range
from onthedot.statistics.forecast import Forecast
from onthedot.statistics.hold_ups import HoldUp
from onthedot.statistics.overview import Overview, read_overview
from onthedot.targets.types import one_line
from onthedot.workers.queues import QueueView, queues_view
from onthedot.workers.records import WorkerRecord, WorkerStatus

_NAMES: Final = ", ".join(str(step) for step in STEPS_SECONDS[:-1])
_STEPS: Final = {str(step): step for step in STEPS_SECONDS}


def _step(text: Any) -> Any:
    """Return the step in a query parameter, which is always text."""
    if text in _STEPS:
        return _STEPS[text]
    raise ValueError(f"is not a length of steps in seconds; give {_NAMES} or {STEPS_SECONDS[-1]}")


Step = Annotated[int, BeforeValidator(_step), WithJsonSchema({"type": "integer", "enum": list(STEPS_SECONDS)})]


class StatisticsQuery(Fields):
    """The query of statistics. Without `from` and `to` it is about the last hour."""

    since: Annotated[QueryInstant | None, Field(alias="from", description="the first step contains this time")] = None
    to: Annotated[
        QueryInstant | None, Field(description="the end of the range; the end of the current minute if it is left out")
    ] = None
    step: Annotated[Step | None, Field(description="seconds of each step")] = None
    priority: PriorityName | None = None


# pydantic describes TypedDicts of `typing` only from Python 3.12 on.


class LatenessView(TypedDict):
    """How late the last attempts of ended runs started. All but `counts` are null without attempts.

    `counts` has a number for each of `bounds_ms`, of starts that were not later, and one for starts later than all
    bounds. `p50_ms` and `p99_ms` are bounds, and `max_ms` is exact.
    """

    p50_ms: int | None
    p99_ms: int | None
    max_ms: int | None
    counts: list[int]


class CountersView(TypedDict):
    """Ended runs by outcome. `retries` and `lost` are attempts of these runs."""

    succeeded: int
    failed: int
    skipped: int
    cancelled: int
    retries: int
    lost: int
    lateness: LatenessView


class StepView(CountersView):
    """The runs that ended in one step. `time` is its beginning."""

    time: str


_Range = TypedDict("_Range", {"from": str, "to": str})
"""Made by a call, because `from` is a word of Python."""


class StatisticsView(_Range):
    """The runs that ended in a range of time, by steps, the oldest first."""

    step_seconds: int
    bounds_ms: list[int]
    steps: list[StepView]
    total: CountersView


class HourMinuteView(TypedDict):
    """The runs that ended in one minute."""

    time: str
    succeeded: int
    failed: int
    skipped: int
    cancelled: int
    retries: int


class HourView(_Range, CountersView):
    """The runs that ended in the last hour, and in each of its 60 minutes, the oldest first."""

    bounds_ms: list[int]
    minutes: list[HourMinuteView]


class SummaryView(TypedDict):
    """How the runs are, in one word (`on_time`, `late`, `failing`, `held_up` or `idle`) and in sentences."""

    state: str
    message: str


class WorkersSummaryView(TypedDict):
    """The pull workers that may run jobs of the tenant. `concurrency` is that of the live ones."""

    alive: int
    silent: int
    running: int
    concurrency: int


class DueView(TypedDict):
    """The runs of one coming minute."""

    time: str
    runs: int


class NextView(TypedDict):
    """A run that comes next."""

    job_id: str
    name: str | None
    fire_time: str


class FailureView(TypedDict):
    """A dead letter. `target` is one line without secrets, null when the job is gone."""

    execution_id: str
    job_id: str
    name: str | None
    target: str | None
    error: str | None
    finished_at: str | None


class HourCauseView(TypedDict):
    """Dead letters of the last hour with one cause. `job_id` and `name` are of the latest."""

    cause: str
    count: int
    latest: str | None
    successes_since: int
    job_id: str
    name: str | None


class HoldUpView(TypedDict):
    """A reason for which due runs do not start now. Fields that do not apply are null."""

    code: str
    message: str
    since: str | None
    job_id: str | None
    name: str | None
    gate: str | None
    pool: str | None
    runs: int | None


class OwnLimitsView(TypedDict):
    """The limits of the tenant. A limit that is null does not limit."""

    in_flight: int | None
    per_second: float | None


class OverviewView(TypedDict):
    """The overview of the caller's tenant. A part that cannot be read now is null, and `unknown` has its name."""

    time: str
    tenant: str
    role: str
    principal: str
    version: str
    engine: str
    stage: str
    status: str | None
    last_tick: str | None
    tick_age_seconds: int | None
    summary: SummaryView
    hour: HourView | None
    queues: list[QueueView] | None
    workers: WorkersSummaryView | None
    due: list[DueView] | None
    next: list[NextView] | None
    failures: list[FailureView] | None
    causes: list[HourCauseView] | None
    hold_ups: list[HoldUpView] | None
    limits: OwnLimitsView | None
    unknown: NotRequired[list[str]]


def counters_view(counters: Counters) -> CountersView:
    return {
        "succeeded": counters.succeeded,
        "failed": counters.failed,
        "skipped": counters.skipped,
        "cancelled": counters.cancelled,
        "retries": counters.retries,
        "lost": counters.lost,
        "lateness": {
            "p50_ms": counters.percentile(0.5),
            "p99_ms": counters.percentile(0.99),
            "max_ms": counters.max_ms,
            "counts": list(counters.counts),
        },
    }


_FIELDS_OF: Final = {
    "ticks": ("status", "last_tick", "tick_age_seconds"),
    "due": ("due", "next"),
    "failures": ("failures", "causes"),
}
"""The fields of a part that has several."""


def overview_view(engine: Engine, caller: Principal, found: Overview) -> OverviewView:
    ticks, failures, coming = found.ticks, found.failures, found.coming
    age, own = None if ticks is None else ticks.age_ms, found.limits or TenantLimits()
    view: OverviewView = {
        "time": format_instant(found.now),
        "tenant": caller.tenant,
        "role": caller.role,
        "principal": caller.name,
        "version": onthedot.__version__,
        "engine": engine.kind,
        "stage": engine.stage_name,
        "status": None if ticks is None else ticks.status.value,
        "last_tick": None if ticks is None else show_time(ticks.last_tick),
        "tick_age_seconds": None if age is None else age // 1000,
        "summary": {"state": found.summary.state.value, "message": found.summary.message},
        "hour": None if found.hour is None else _hour(found.hour, found.now),
        "queues": None if found.queues is None else queues_view(found.queues)["queues"],
        "workers": None if found.workers is None else _workers(found.workers, found.now),
        "due": None if coming is None else _due(coming),
        "next": None if coming is None else _next(coming),
        "failures": None if failures is None else [_failure(*one) for one in failures.failures],
        "causes": None if failures is None else [_cause(one) for one in failures.causes],
        "hold_ups": None if found.hold_ups is None else [_hold_up(one) for one in found.hold_ups],
        "limits": None if "limits" in found.unknown else {"in_flight": own.in_flight, "per_second": own.per_second},
    }
    unknown = [field for part in found.unknown for field in _FIELDS_OF.get(part, (part,))]
    return {**view, "unknown": unknown} if unknown else view


def _hour(minutes: Sequence[tuple[int, Counters]], now: int) -> HourView:
    return {
        "from": format_instant(minutes[0][0]),
        "to": format_instant(now),
        **counters_view(added(counters for _, counters in minutes)),
        "bounds_ms": list(BOUNDS_MS),
        "minutes": [
            {
                "time": format_instant(start),
                "succeeded": counters.succeeded,
                "failed": counters.failed,
                "skipped": counters.skipped,
                "cancelled": counters.cancelled,
                "retries": counters.retries,
            }
            for start, counters in minutes
        ],
    }


def _workers(workers: Sequence[WorkerRecord], now: int) -> WorkersSummaryView:
    alive = [one for one in workers if one.status(now) in (WorkerStatus.ACTIVE, WorkerStatus.DRAINING)]
    return {
        "alive": len(alive),
        "silent": sum(one.status(now) is WorkerStatus.LOST for one in workers),
        "running": sum(len(one.load.running) for one in alive),
        "concurrency": sum(one.resources.concurrency for one in alive),
    }


def _due(coming: Forecast) -> list[DueView]:
    return [{"time": format_instant(start), "runs": runs} for start, runs in coming.minutes.items()]


def _next(coming: Forecast) -> list[NextView]:
    return [
        {"job_id": job_id, "name": coming.names.get(job_id), "fire_time": format_instant(at)}
        for at, job_id in coming.nearest
    ]


def _failure(run: Record, definition: Definition | None) -> FailureView:
    return {
        "execution_id": run.run_id,
        "job_id": run.job_id,
        "name": None if definition is None else definition.name,
        "target": None if definition is None else one_line(definition.target),
        "error": error_of(run),
        "finished_at": show_time(run.finished_at),
    }


def _cause(found: Cause) -> HourCauseView:
    return {
        "cause": found.text,
        "count": found.count,
        "latest": show_time(found.latest.finished_at),
        "successes_since": found.successes_since,
        "job_id": found.latest.job_id,
        "name": found.name,
    }


def _hold_up(found: HoldUp) -> HoldUpView:
    return cast(HoldUpView, {**asdict(found), "since": show_time(found.since)})


def show_statistics(context: RequestContext) -> StatisticsView:
    engine, query = context.engine, read_model(StatisticsQuery, context.request.query)
    asked = step_range(query.since, query.to, query.step, engine.clock.now())
    found = engine.statistics.read(context.tenant, *asked.minutes)
    steps = in_steps((one for one in found if query.priority in (None, one.priority)), asked)
    return {
        "from": format_instant(asked.since),
        "to": format_instant(asked.until),
        "step_seconds": asked.step_ms // 1000,
        "bounds_ms": list(BOUNDS_MS),
        "steps": [{"time": format_instant(start), **counters_view(counters)} for start, counters in steps],
        "total": counters_view(added(counters for _, counters in steps)),
    }


def show_overview(context: RequestContext) -> OverviewView:
    caller = context.request.principal or Principal(context.tenant, "", "")
    return overview_view(context.engine, caller, read_overview(context.engine, context.tenant))


ROUTES: Final = (
    Route(
        "GET",
        "/v1/statistics",
        show_statistics,
        "Count ended runs by outcome and lateness, for each step of a range of time",
        StatisticsView,
        query=StatisticsQuery,
        errors=(422,),
    ),
    Route(
        "GET",
        "/v1/overview",
        show_overview,
        "Get an overview: the last hour, queues, workers, the next fires, failures, and what holds up runs",
        OverviewView,
    ),
)
