"""Types of the answers about statistics."""

from typing import NotRequired

# pydantic describes TypedDicts of `typing` only from Python 3.12 on.
from typing_extensions import TypedDict

from onthedot.api.queues.views import QueueView


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


# `from` is a word of Python, so this type is made by a call.
StatisticsView = TypedDict(
    "StatisticsView",
    {
        "from": str,
        "to": str,
        "step_seconds": int,
        "bounds_ms": list[int],
        "steps": list[StepView],
        "total": CountersView,
    },
)
StatisticsView.__doc__ = "The runs that ended in a range of time, by steps, the oldest first."


class HourMinuteView(TypedDict):
    """The runs that ended in one minute."""

    time: str
    succeeded: int
    failed: int
    skipped: int
    cancelled: int
    retries: int


HourView = TypedDict(
    "HourView",
    {
        "from": str,
        "to": str,
        "succeeded": int,
        "failed": int,
        "skipped": int,
        "cancelled": int,
        "retries": int,
        "lost": int,
        "lateness": LatenessView,
        "bounds_ms": list[int],
        "minutes": list[HourMinuteView],
    },
)
HourView.__doc__ = "The runs that ended in the last hour, and in each of its 60 minutes, the oldest first."


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
