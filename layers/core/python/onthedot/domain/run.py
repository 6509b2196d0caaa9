"""A run: one occurrence of a job at its fire time, its states, and the legal moves between them.

A one-off job *is* its run, so one record carries both. Records are only ever changed by a `Move`:
a compare-and-set that names what it expects and what it writes. The transition table below is the
only place that knows which status may follow which.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final


class Status(StrEnum):
    """Where a run stands. A live run is PENDING in a fire slot, or DISPATCHED or RUNNING in a watch slot."""

    PENDING = "PENDING"
    DISPATCHED = "DISPATCHED"
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    DELETED = "DELETED"


TERMINAL: Final = frozenset({Status.SUCCEEDED, Status.FAILED, Status.DELETED})

TRANSITIONS: Final[Mapping[Status, frozenset[Status]]] = MappingProxyType(
    {
        Status.PENDING: frozenset({Status.DISPATCHED, Status.DELETED}),
        # DISPATCHED -> DISPATCHED is a message sent again; -> FAILED is one that could never be delivered.
        Status.DISPATCHED: frozenset({Status.DISPATCHED, Status.RUNNING, Status.FAILED, Status.DELETED}),
        # RUNNING -> RUNNING extends a lease or moves to a later watch slot; -> PENDING/DISPATCHED is a retry.
        Status.RUNNING: frozenset(
            {
                Status.RUNNING,
                Status.PENDING,
                Status.DISPATCHED,
                Status.SUCCEEDED,
                Status.FAILED,
                Status.DELETED,
            }
        ),
        Status.SUCCEEDED: frozenset({Status.DELETED}),
        Status.FAILED: frozenset({Status.DELETED}),
        Status.DELETED: frozenset(),
    }
)


class Priority(StrEnum):
    """Which of its pool's three queues a run waits in."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Kind(StrEnum):
    """What a record in a fire slot is."""

    ONE_OFF = "one-off"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """When to try again: `backoff * factor**n` capped at `max_backoff`, with full jitter unless switched off."""

    max_retries: int = 3
    backoff_seconds: float = 2.0
    factor: float = 2.0
    max_backoff_seconds: float = 900.0
    jitter: bool = True


@dataclass(frozen=True, slots=True)
class HttpTarget:
    """An HTTP callback."""

    url: str
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Definition:
    """What the user asked for, apart from when: everything an attempt needs."""

    target: HttpTarget
    payload: Any = None
    payload_ref: str | None = None
    """Where the payload is kept when it is too large to stand in the record."""
    retry: RetryPolicy = RetryPolicy()
    timeout_seconds: int = 60
    name: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One ended try of a run by one worker."""

    number: int
    worker: str
    started_at: int
    ended_at: int
    outcome: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """The whole record of a one-off job and its run."""

    run_id: str
    job_id: str
    tenant: str
    definition: Definition
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
    token: str | None = None
    """Who handed the run over last: `tick/nonce` of a dispatcher."""
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
    """What the target answered, bounded."""
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

    `increments` adds to counters whose present value the mover does not know.

    The status is written by nothing else than a move, and every move is checked against the table.
    """

    run_id: str
    expect: Expect
    to: Status
    changes: Mapping[str, Any]
    increments: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for before in self.expect.status:
            if self.to not in TRANSITIONS[before]:
                raise IllegalMove(f"{before} -> {self.to} is not a legal move")
        if "status" in self.changes:
            raise IllegalMove("a move's status is its `to`")
