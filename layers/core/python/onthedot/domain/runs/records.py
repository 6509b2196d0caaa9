"""Jobs and runs as records: their states, and the legal moves between them.

A run is one occurrence of a job at its fire time. A one-off job *is* its run, so one record carries both.
Records are only ever changed by a `Move`: a compare-and-set that names what it expects and what it writes. The
transition table below is the only place that knows which status may follow which.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from onthedot.domain.schedules.recurrence import Recurrence
from onthedot.domain.targets.types import Target
from onthedot.domain.workers.pools import Requirements


class Status(StrEnum):
    """Where a record stands.

    A live run is PENDING in a fire slot, or DISPATCHED or RUNNING in a watch slot. A recurring job is ACTIVE in
    the fire slot of its next fire time, an event job in none. What is PAUSED stands in no slot.
    """

    WAITING = "WAITING"
    """For its parents. In no slot, but for the moment until all of them know of it."""
    PENDING = "PENDING"
    DISPATCHED = "DISPATCHED"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    CANCELLED = "CANCELLED"
    DELETED = "DELETED"
    PAUSED = "PAUSED"
    ACTIVE = "ACTIVE"
    COMPLETED = "COMPLETED"


TERMINAL: Final = frozenset(
    {Status.SUCCEEDED, Status.FAILED, Status.SKIPPED, Status.CANCELLED, Status.DELETED, Status.COMPLETED}
)


def _to(*statuses: Status) -> frozenset[Status]:
    return frozenset(statuses)


_S = Status
_STOPS: Final = _to(_S.PAUSED, _S.CANCELLED, _S.DELETED)
TRANSITIONS: Final[Mapping[Status, frozenset[Status]]] = MappingProxyType(
    {
        # WAITING -> WAITING: a parent has ended, or the run was changed; -> FAILED, SKIPPED: a parent did not succeed.
        _S.WAITING: _to(
            _S.WAITING, _S.PENDING, _S.DISPATCHED, _S.ACTIVE, _S.FAILED, _S.SKIPPED, _S.CANCELLED, _S.DELETED
        ),
        # PENDING -> PENDING and DISPATCHED -> PENDING move a changed run to its new time.
        _S.PENDING: _to(_S.PENDING, _S.DISPATCHED, _S.SKIPPED) | _STOPS,
        # DISPATCHED -> DISPATCHED is a message sent again; -> FAILED is one that could never be delivered.
        _S.DISPATCHED: _to(_S.PENDING, _S.DISPATCHED, _S.RUNNING, _S.FAILED, _S.SKIPPED) | _STOPS,
        # RUNNING -> RUNNING extends a lease or moves to a later watch slot; -> PENDING/DISPATCHED is a retry.
        _S.RUNNING: _to(_S.RUNNING, _S.PENDING, _S.DISPATCHED, _S.SUCCEEDED, _S.FAILED, _S.CANCELLED, _S.DELETED),
        _S.PAUSED: _to(_S.PAUSED, _S.PENDING, _S.DISPATCHED, _S.ACTIVE, _S.CANCELLED, _S.DELETED),
        # ACTIVE -> ACTIVE advances a recurring job to its next fire time, or changes it.
        _S.ACTIVE: _to(_S.ACTIVE, _S.COMPLETED) | _STOPS,
        # A skipped run is revived when the schedule contains its time again; a skipped range may grow.
        _S.SKIPPED: _to(_S.SKIPPED, _S.PENDING, _S.DISPATCHED, _S.DELETED),
        # The last run of a completed job may still take its turn.
        _S.COMPLETED: _to(_S.COMPLETED, _S.ACTIVE) | _STOPS,
        # An ended run stays what it is when its children have been told.
        _S.SUCCEEDED: _to(_S.SUCCEEDED, _S.DELETED),
        # A dead letter is run again when somebody redrives it.
        _S.FAILED: _to(_S.FAILED, _S.PENDING, _S.DISPATCHED, _S.DELETED),
        _S.CANCELLED: _to(_S.CANCELLED, _S.DELETED),
        _S.DELETED: _to(_S.DELETED),
    }
)


class Priority(StrEnum):
    """Which of its pool's three queues a run waits in."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Kind(StrEnum):
    """What a record is."""

    ONE_OFF = "one-off"
    """A job that is its own run."""
    RECURRING = "recurring"
    """A job that stamps runs."""
    STAMPED = "stamped"
    """A run of such a job or of an event job; what it does is read from the job when it starts."""
    EVENT = "event"
    """A job that stamps a run for each event that matches its pattern."""
    SKIPPED_RANGE = "skipped"
    """Fire times of a recurring job that were not run, many as one record."""


STAMPING: Final = frozenset({Kind.RECURRING, Kind.EVENT})
"""Jobs that are no runs themselves."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When to try again: `backoff * factor**n` capped at `max_backoff`, with full jitter unless switched off."""

    max_retries: int = 3
    backoff_seconds: float = 2.0
    factor: float = 2.0
    max_backoff_seconds: float = 900.0
    jitter: bool = True


@dataclass(frozen=True, slots=True)
class Definition:
    """What the user asked for, apart from when: everything an attempt needs."""

    target: Target
    payload: Any = None
    payload_ref: str | None = None
    """Where the payload is kept when it is too large to stand in the record."""
    retry: RetryPolicy = RetryPolicy()
    timeout_seconds: int = 60
    name: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    requirements: Requirements = field(default_factory=Requirements)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One ended try of a run by one worker."""

    number: int
    worker: str
    started_at: int
    ended_at: int
    outcome: str
    error: str | None = None
    error_class: str | None = None
    """What kind of error, as a short stable word: `timeout`, `http_503`, `ValueError`, `lost`…"""


@dataclass(frozen=True, slots=True)
class Record:
    """One item: a one-off job, which is its own run; a recurring job; or a run that such a job stamped."""

    run_id: str
    job_id: str
    tenant: str
    definition: Definition | None
    """None for a stamped run: it runs with its job's present definition."""
    priority: Priority
    pool: str
    created_at: int
    nominal_at: int
    """The time the user asked for; it never changes."""
    fire_at: int
    """When the next attempt is due: the nominal time at first, later the time of a retry."""
    status: Status
    generation: str
    kind: Kind = Kind.ONE_OFF
    slot: str | None = None
    claim_token: str | None = None
    """Who handed the run over last: `tick/nonce` of a dispatcher."""
    recurrence: Recurrence | None = None
    version: int | None = None
    """Of a job: counts its changes, for `If-Match`."""
    schedule_version: int | None = None
    """Of a recurring job: changes with its schedule only, so that a stamping that saw the old one cannot advance it."""
    accounted_until: int | None = None
    """Of a recurring job: every time up to this one has its run or its record of being skipped."""
    scheduled_since: int | None = None
    """Of a recurring job: the first fire time of its present schedule, from which on every time has an outcome."""
    stamped: int | None = None
    """Of a recurring job: runs stamped so far, for `max_runs`."""
    parents: tuple[str, ...] = ()
    """Jobs whose end it waited for, and whose results it gets."""
    waits_for: frozenset[str] = frozenset()
    """Those of them that have not ended, or that it has not heard of yet."""
    on_parent_failure: str | None = None
    """What becomes of it when a parent did not succeed: `fail` (None), `run` or `skip`."""
    children: frozenset[str] = frozenset()
    """Jobs that wait for its end."""
    dependents: int | None = None
    """Counts how often a child was added, so that nobody ends the run without knowing them all."""
    notify_pending: int | None = None
    """It has ended, and stands in a watch slot until all its children know."""
    workflow: str | None = None
    """The run that made the graph it is part of, and its key there:"""
    key: str | None = None
    pattern: str | None = None
    """Of an event job: the EventBridge pattern, as JSON."""
    pattern_entry: str | None = None
    """Of an event job: which entries of the index are its pattern's; no two patterns of a job share them."""
    payload: str | None = None
    """Of a run that an event made: what it is given in place of its job's payload, as JSON; or where that is kept:"""
    payload_ref: str | None = None
    last_started_run: str | None = None
    """Of a recurring job whose runs must not overlap: the run that started last."""
    trigger: str | None = None
    """Of a run that the schedule did not make: `manual`, `backfill` or `event`."""
    revision: int = 1
    """Counts all changes of the record, for those who hear of them out of order."""
    skipped_until: int | None = None
    skipped_count: int | None = None
    """Of a skipped range: its last fire time, and how many there were."""
    cancel_requested: int | None = None
    """When a running attempt was asked to stop."""
    attempt: int = 0
    """Starts so far, and the fencing token: a worker holding an older number writes nothing any more."""
    attempt_token: str | None = None
    """Random value of the last start, by which a worker whose reply was lost knows its own start."""
    failures: int = 0
    losses: int = 0
    resends: int = 0
    lease_until: int | None = None
    worker: str | None = None
    started_at: int | None = None
    finished_at: int | None = None
    reason: str | None = None
    result: str | None = None
    """What the target answered, when it is short."""
    result_ref: str | None = None
    """Where the answer is kept when it is not."""
    attempts: tuple[Attempt, ...] = ()
    fingerprint: str | None = None
    """Hash of the create request, to tell a retry of it from another request with the same key."""
    listed_under: str | None = None
    failed_under: str | None = None
    expires_at: int | None = None
    """Epoch *seconds*, as DynamoDB's TTL wants it. Live rows have none."""


@dataclass(frozen=True, slots=True)
class Expect:
    """What must hold for a move to happen: one of the statuses, and every equality and upper bound."""

    status: frozenset[Status]
    equals: Mapping[str, Any] = field(default_factory=dict)
    at_most: Mapping[str, int] = field(default_factory=dict)


class IllegalMove(ValueError):
    """A move that the transition table does not know."""


@dataclass(frozen=True, slots=True)
class Move:
    """One compare-and-set on one run. `changes` names fields of `Run`; None removes the field.

    `increments` adds to counters whose present value the mover does not know, `adds` and `removes` to and from sets;
    what is in a set already, or is not, changes nothing.

    The status is written by nothing else than a move, and every move is checked against the table.
    """

    run_id: str
    expect: Expect
    to: Status
    changes: Mapping[str, Any]
    increments: Mapping[str, int] = field(default_factory=dict)
    adds: Mapping[str, frozenset[str]] = field(default_factory=dict)
    removes: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for before in self.expect.status:
            if self.to not in TRANSITIONS[before]:
                raise IllegalMove(f"{before} -> {self.to} is not a legal move")
        if "status" in self.changes:
            raise IllegalMove("a move's status is its `to`")
        if "revision" in self.changes:
            raise IllegalMove("every move counts the revision, and none sets it")

    @property
    def counts(self) -> Mapping[str, int]:
        """All that the move adds to counters: its increments, and one to the revision."""
        return {**self.increments, "revision": 1}
