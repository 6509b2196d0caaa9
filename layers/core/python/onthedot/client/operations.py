"""The calls and answers of an operator: backfills, forecasts, workers and health. It is pure."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from onthedot.client.answers import read_answer, read_time
from onthedot.client.options import Time, in_json
from onthedot.client.requests import Operation, job_path

_TIME: Final = {"read": read_time}
LATE: Final = 503
"""The status of the answer of a scheduler whose ticks are late."""


@dataclass(frozen=True, kw_only=True)
class Backfilled:
    """The outcome of one call of a backfill."""

    created: int
    existing: int
    """Fire times that had an execution already."""
    left: int
    """Fire times of the window that the call did not reach."""
    next_from: datetime | None = field(default=None, metadata=_TIME)
    """The first fire time that the call did not reach. Call again from there."""
    executions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class HeavyJob:
    """A job with many runs in a minute."""

    job_id: str
    runs: int
    name: str | None = None


def _heavy_jobs(documents: list[Any]) -> list[HeavyJob]:
    return [read_answer(HeavyJob, one) for one in documents]


@dataclass(frozen=True, kw_only=True)
class Minute:
    """The number of runs that are scheduled for a minute, and up to 3 jobs with the most of them."""

    time: datetime = field(metadata=_TIME)
    runs: int
    heaviest: list[HeavyJob] = field(default_factory=list, metadata={"read": _heavy_jobs})


def _minutes(documents: list[Any]) -> list[Minute]:
    return [read_answer(Minute, one) for one in documents]


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """The runs of each coming minute. When `truncated` is true there are more than were counted."""

    minutes: list[Minute] = field(metadata={"read": _minutes})
    truncated: bool = False
    complete_until: datetime | None = field(default=None, metadata=_TIME)
    """The minute from which on some waiting runs were not counted."""


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A pull worker. `running` is empty when it serves all tenants."""

    id: str = field(metadata={"key": "worker_id"})
    pool: str
    status: str
    capabilities: list[str] = field(default_factory=list)
    resources: dict[str, Any] = field(default_factory=dict)
    used: dict[str, Any] = field(default_factory=dict)
    running: list[str] = field(default_factory=list)
    registered_at: datetime | None = field(default=None, metadata=_TIME)
    heartbeat_at: datetime | None = field(default=None, metadata=_TIME)
    host: str | None = None


@dataclass(frozen=True, kw_only=True)
class Health:
    """The state of the scheduler: `ok`, `starting` or `late`, by the age of its last tick."""

    status: str
    version: str | None = None
    time: datetime | None = field(default=None, metadata=_TIME)
    last_tick: datetime | None = field(default=None, metadata=_TIME)
    tick_age_seconds: int | None = None


def backfill(job_id: str, start: Time, end: Time, limit: int, priority: str) -> Operation[Backfilled]:
    """Return the call that runs a job for past fire times. A repeated call finds the same runs."""
    # The option `at` has the form of all times.
    window = {name: in_json({"at": value})["at"] for name, value in (("from", start), ("to", end))}
    body = {**window, "limit": limit, "priority": priority}
    return Operation("POST", f"{job_path(job_id)}/backfill", lambda found: read_answer(Backfilled, found), body=body)


def forecast(minutes: int) -> Operation[Forecast]:
    query = {"minutes": str(minutes)}
    return Operation("GET", "/v1/forecast", lambda found: read_answer(Forecast, found), query=query)


def workers(status: str | None) -> Operation[list[Worker]]:
    query = {} if status is None else {"status": status}
    return Operation("GET", "/v1/workers", _read_workers, query=query)


def health() -> Operation[Health]:
    read = lambda found: read_answer(Health, found)  # noqa: E731 - as short as the others
    return Operation("GET", "/v1/health", read, also_answers=frozenset({LATE}))


def _read_workers(document: Any) -> list[Worker]:
    return [read_answer(Worker, one) for one in document["workers"]]
