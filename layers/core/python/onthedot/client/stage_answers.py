"""The answers of lists of jobs, and about the state of a stage.

They are apart from `answers`, so that a program loads them with the first such answer, and not with the client.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from onthedot.client.answers import Outcome, Status, read_answer, read_status, read_time
from onthedot.client.operations import Minute

_TIME: Final = {"read": read_time}


def _outcome(document: Any) -> Outcome:
    return read_answer(Outcome, document)


@dataclass(frozen=True, kw_only=True)
class ListedJob:
    """A job in a list. `outcomes` are the statuses of its latest ended runs, the latest first."""

    id: str = field(metadata={"key": "job_id"})
    kind: str
    status: Status | str = field(metadata={"read": read_status})
    name: str | None = None
    reason: str | None = None
    priority: str = "MEDIUM"
    pool: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    at: datetime | None = field(default=None, metadata=_TIME)
    cron: str | None = None
    timezone: str | None = None
    every: int | None = None
    next_fire_time: datetime | None = field(default=None, metadata=_TIME)
    created_at: datetime | None = field(default=None, metadata=_TIME)
    workflow_id: str | None = None
    outcomes: list[str] = field(default_factory=list)
    last_outcome: Outcome | None = field(default=None, metadata={"read": _outcome})


@dataclass(frozen=True, slots=True)
class JobPage:
    """One page of jobs, and the cursor of the next one. A page may be empty and have a next one."""

    jobs: list[ListedJob]
    cursor: str | None


@dataclass(frozen=True, kw_only=True)
class NotDone:
    """A job on which a call did not act, and why."""

    id: str
    code: str
    message: str


def _not_done(documents: list[Any]) -> list[NotDone]:
    return [read_answer(NotDone, one) for one in documents]


@dataclass(frozen=True, kw_only=True)
class BulkStep:
    """One step of an act on many jobs: the jobs that it found, on how many it acted, and its failures."""

    matched: int
    done: int = 0
    failed: int = 0
    failures: list[NotDone] = field(default_factory=list, metadata={"read": _not_done})
    next_cursor: str | None = None
    """There is more to do while it is not None."""


@dataclass(frozen=True, kw_only=True)
class Queue:
    """A queue of a pool, with the runs of all tenants. A number that is not known now is None."""

    pool: str
    kind: str | None = None
    """`push` where queues start workers, and `pull` where workers ask."""
    priority: str | None = None
    """None: all priorities share the queue."""
    waiting: int | None = None
    delayed: int | None = None
    in_flight: int | None = None
    oldest_age_seconds: float | None = None
    dead_letters: int | None = None
    error: str | None = None
    """The reason why the numbers are not known."""


def _queues(documents: list[Any]) -> list[Queue]:
    return [read_answer(Queue, one) for one in documents]


@dataclass(frozen=True, kw_only=True)
class Lateness:
    """How late runs started. `counts` belong to the bounds in `bounds_ms`, and the last one is above all of them."""

    p50_ms: float | None = None
    p99_ms: float | None = None
    max_ms: float | None = None
    counts: list[int] = field(default_factory=list)


def _lateness(document: Any) -> Lateness:
    return read_answer(Lateness, document)


@dataclass(frozen=True, kw_only=True)
class Outcomes:
    """The ends of runs in a span of time, and how late runs started in it."""

    time: datetime | None = field(default=None, metadata=_TIME)
    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    cancelled: int = 0
    retries: int = 0
    lost: int = 0
    lateness: Lateness = field(default_factory=Lateness, metadata={"read": _lateness})


def _outcomes(documents: list[Any]) -> list[Outcomes]:
    return [read_answer(Outcomes, one) for one in documents]


@dataclass(frozen=True, kw_only=True)
class Hour(Outcomes):
    """The last hour, and each of its minutes, the oldest first."""

    bounds_ms: list[int] = field(default_factory=list)
    minutes: list[Outcomes] = field(default_factory=list, metadata={"read": _outcomes})


def _hour(document: Any) -> Hour:
    return read_answer(Hour, document)


def _due(documents: list[Any]) -> list[Minute]:
    return [read_answer(Minute, one) for one in documents]


@dataclass(frozen=True, kw_only=True)
class Overview:
    """The state of a stage for the caller's tenant. A part that cannot be read now is None or empty, see `unknown`."""

    time: datetime = field(metadata=_TIME)
    status: str
    tenant: str | None = None
    role: str | None = None
    principal: str | None = None
    version: str | None = None
    engine: str | None = None
    stage: str | None = None
    last_tick: datetime | None = field(default=None, metadata=_TIME)
    tick_age_seconds: float | None = None
    summary: Mapping[str, Any] = field(default_factory=dict)
    hour: Hour | None = field(default=None, metadata={"read": _hour})
    queues: list[Queue] = field(default_factory=list, metadata={"read": _queues})
    workers: Mapping[str, Any] = field(default_factory=dict)
    due: list[Minute] = field(default_factory=list, metadata={"read": _due})
    next: list[Mapping[str, Any]] = field(default_factory=list)
    failures: list[Mapping[str, Any]] = field(default_factory=list)
    causes: list[Mapping[str, Any]] = field(default_factory=list)
    hold_ups: list[Mapping[str, Any]] = field(default_factory=list)
    limits: Mapping[str, Any] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


def _total(document: Any) -> Outcomes:
    return read_answer(Outcomes, document)


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """The ends of runs and their lateness for each step of a range of time."""

    start: datetime = field(metadata={"key": "from", **_TIME})
    end: datetime = field(metadata={"key": "to", **_TIME})
    step_seconds: int
    bounds_ms: list[int] = field(default_factory=list)
    steps: list[Outcomes] = field(default_factory=list, metadata={"read": _outcomes})
    total: Outcomes = field(default_factory=Outcomes, metadata={"read": _total})


@dataclass(frozen=True, kw_only=True)
class Gate:
    """A gate, its limits and its use. A limit that is None does not limit. A use that is not known now is None."""

    name: str
    in_flight: int | None = None
    per_second: float | None = None
    burst: int | None = None
    paused: bool = False
    changed_at: datetime | None = field(default=None, metadata=_TIME)
    changed_by: str | None = None
    """The name of the token that set the limits."""
    in_use: int | None = None
    waiting: int | None = None
    waiting_is_more: bool | None = None
    oldest_waiting_seconds: float | None = None
    holders: list[Mapping[str, Any]] = field(default_factory=list)
    """The attempts that have had their places longest. A list of gates does not have them."""


@dataclass(frozen=True, slots=True)
class GatePage:
    """One page of gates, and the cursor of the next one."""

    gates: list[Gate]
    cursor: str | None
