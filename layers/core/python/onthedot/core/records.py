"""The records of jobs and runs, and the statuses that they can be in.

A run is one occurrence of a job at its fire time. A one-off job is its own run, so one record carries both. A record
changes by a `Move` only (see `moves.py`).
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from typing import Any, Final

from onthedot.core.choices import Priority, Requirements, RetryPolicy
from onthedot.core.progress import ProgressReport
from onthedot.schedules.schedule import Recurrence
from onthedot.targets.types import Target


class Status(StrEnum):
    """One state in the life of a record. It decides in which slot of the due index the record is."""

    WAITING = "WAITING"
    """A job that waits for its parents. It has a watch slot only until all parents know of it."""
    PENDING = "PENDING"
    """A run in a fire slot: it waits for the claim pass."""
    DISPATCHED = "DISPATCHED"
    """A run in a watch slot: its message was sent, or is about to be sent, and no worker has started it."""
    RUNNING = "RUNNING"
    """A run in a watch slot: a worker holds a lease on its attempt."""
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    """A dead letter: the run is not tried again unless a client redrives it."""
    SKIPPED = "SKIPPED"
    """A run or a range of fire times that was not run, with the reason."""
    CANCELLED = "CANCELLED"
    DELETED = "DELETED"
    """A tombstone: it keeps the id taken for some days."""
    PAUSED = "PAUSED"
    """A job that a client paused. It has no slot."""
    ACTIVE = "ACTIVE"
    """A recurring job in the fire slot of its next fire time, or an event job, which has no slot."""
    COMPLETED = "COMPLETED"
    """A recurring job whose schedule has ended. Its last runs may still be ahead."""


TERMINAL: Final = frozenset(
    {Status.SUCCEEDED, Status.FAILED, Status.SKIPPED, Status.CANCELLED, Status.DELETED, Status.COMPLETED}
)
SCHEDULED: Final = frozenset({Status.PENDING, Status.DISPATCHED})


class Kind(StrEnum):
    ONE_OFF = "one-off"
    """A job that is its own run."""
    RECURRING = "recurring"
    """A job with a schedule. The dispatcher stamps its runs."""
    STAMPED = "stamped"
    """A run of a recurring job or of an event job. It reads its definition from the job when it starts."""
    EVENT = "event"
    """A job that gets one run for each event that matches its pattern."""
    SKIPPED_RANGE = "skipped"
    """One or many fire times of a recurring job that were not run."""
    GATE = "gate"
    """No record: a gate in the slot in which a tick looks at it."""


STAMPING: Final = frozenset({Kind.RECURRING, Kind.EVENT})
"""The kinds of jobs that have runs, but are not runs themselves."""


@dataclass(frozen=True, slots=True)
class Definition:
    """Everything that an attempt needs: the part of a user's request that does not say when.

    A default is the meaning of a value that is not stored, so it never changes. `jobs.spec` has those of new jobs.
    """

    target: Target
    payload: Any = None
    payload_ref: str | None = None
    timeout_seconds: int = 60
    name: str | None = None
    description: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    requirements: Requirements = field(default_factory=Requirements)


@dataclass(frozen=True, slots=True)
class Attempt:
    number: int
    worker: str
    started_at: int
    ended_at: int
    outcome: str
    """`succeeded`, `failed`, `cancelled`, `released` (handed back) or `lost`."""
    error: str | None = None
    error_class: str | None = None
    """The kind of error as a short stable word: `timeout`, `http_503`, `ValueError`, `lost`…"""


@dataclass(frozen=True, kw_only=True)
class Record:
    """One stored item: a one-off job, a recurring job, an event job, a stamped run or a skipped range.

    Instants are epoch milliseconds unless the field says otherwise. A field that does not apply is None or empty.
    """

    # Without slots, because `record_with` and `copy_with` build records from dictionaries, at a fifth of the price.

    # Identity
    run_id: str
    """The key of the record. The run id of a job is its job id."""
    job_id: str
    tenant: str
    kind: Kind = Kind.ONE_OFF
    created_at: int
    fingerprint: str | None = None
    """Hash of the create request. A retry with the same idempotency key has the same hash, another request has not."""
    trigger: str | None = None
    """`manual`, `backfill` or `event` for a run that the schedule did not make."""

    trace: str | None = None
    """The trace of the API call that made the record (see `traces`). None: the run has a trace of its own."""

    # Definition and pool
    definition: Definition | None
    """None for a stamped run: it runs with the current definition of its job."""
    priority: Priority
    pool: str
    payload: str | None = None
    """The payload of a run that an event made, as JSON. It replaces the payload of the job."""
    payload_ref: str | None = None
    # State, and position in the due index
    status: Status
    fire_time: int
    """The time that the user asked for. A retry does not change it."""
    due_at: int
    """The time when the next attempt is due: the nominal time at first, later the time of a retry.

    For a recurring job it is its position: the first fire time that is not stamped yet."""
    slot: str | None = None
    """The partition of the due index that the record is in."""
    generation: str
    """Random value of the current scheduling. Messages from an earlier one carry another value and are ignored."""
    claim_token: str | None = None
    """`tick/nonce` of the dispatcher that claimed, stamped or resent the run last."""
    resends: int = 0
    """Number of times that the sweep has sent the message again in this generation."""
    aside_from: str | None = None
    aside_since: int | None = None
    aside_why: str | None = None

    # Gates
    gates: tuple[str, ...] = ()
    """The gates that a job names, sorted. A stamped run asks the gates of its job."""
    held: tuple[str, ...] = ()
    """The places of the running attempt: the page and the name of each gate, such as `0#stripe`."""
    woken: str | None = None
    """The gate at which the run waited last, if it was taken off the list and has not started since."""
    waited_at: str | None = None
    """The gate at which the run waited last, as its job names it. The start of an attempt keeps it."""
    waited_since: int | None = None
    waited_why: str | None = None
    """Why that gate refused it, in words: it was paused, or its places were in use. None: its rate was used up."""
    start_within_seconds: int | None = None
    """Of a job: a run that has not started this long after its first fire time is skipped."""
    start_by: int | None = None
    # Changes
    version: int | None = None
    """Number of changes that clients made to a job, for `If-Match`."""
    changes: str | None = None
    """The latest changes that clients made to a job, as `change_log` writes them. None: there is nothing to say."""
    revision: int = 1
    """Number of all writes of the record, the first one included. Subscribers order events by it."""

    # Recurring job
    recurrence: Recurrence | None = None
    schedule_version: int | None = None
    """Number of the current schedule. A dispatcher that planned stamps by an earlier one cannot advance the job."""
    scheduled_since: int | None = None
    """First fire time of the current schedule. Every fire time from here on has a recorded outcome."""
    accounted_until: int | None = None
    """Every fire time up to this one has a run or a skipped range."""
    given_up: str | None = None
    """The times that a change of the job gave up, until their skipped range is stored: first, last and number."""
    stamped: int | None = None
    last_started_run: str | None = None
    """The run that started last, when the job's runs must not overlap."""

    # Skipped range
    skipped_until: int | None = None
    """The last fire time of the range. The first one is `fire_time`."""
    skipped_count: int | None = None
    # Event job
    pattern: str | None = None
    pattern_entry: str | None = None
    """Name of the index entries of the current pattern. Each pattern that the job gets has a new name."""

    # Dependencies
    parents: tuple[str, ...] = ()
    """The jobs whose end the job waits for, or waited for. The target gets their results."""
    waits_for: frozenset[str] = frozenset()
    """The parents that have not notified the job of their end yet."""
    on_parent_failure: str | None = None
    """The rule for a parent that does not succeed: `run`, `skip`, or None for `fail`."""
    children: frozenset[str] = frozenset()
    dependents: int | None = None
    """Number of times that a child was added. A move that ends the run expects the number that its writer read. So the
    move is refused when a child was added meanwhile."""
    notify_pending: int | None = None
    """1 while the run has ended and some of its children are not notified. The run has a watch slot until then."""
    workflow: str | None = None
    """The run that makes the graph to which the job belongs. For that run itself it is its own id."""
    key: str | None = None
    # Attempts
    attempt: int = 0
    """Number of starts. It is a fencing token: a worker with an older number can no longer write."""
    attempt_token: str | None = None
    """Random value of the last start. A worker whose reply was lost recognises its own start by it."""
    worker: str | None = None
    started_at: int | None = None
    lease_until: int | None = None
    """End of the lease of the running attempt. Without a heartbeat the attempt is lost some time after it."""
    timeout_seconds: int | None = None
    """The timeout of the last start of a stamped run, from the definition of its job at that time."""
    progress: ProgressReport | None = None
    cancel_requested: int | None = None
    failures: int = 0
    """Number of failed attempts since the run was created or redriven."""
    losses: int = 0
    attempts: tuple[Attempt, ...] = ()
    # Outcome
    finished_at: int | None = None
    reason: str | None = None
    result: str | None = None
    result_ref: str | None = None
    # Storage
    format: int | None = None
    """The format that a version must know to read the record. None: the first one. No version writes to a record of a
    format that it does not know."""
    listed_under: str | None = None
    failed_under: str | None = None
    """Partition of the dead-letter index. Only FAILED runs have it."""
    expires_at: int | None = None
    """Epoch *seconds* after which DynamoDB's TTL may delete the record. Live records have none."""


FIELDS: Final = tuple(field.name for field in fields(Record))
REQUIRED: Final = frozenset(
    field.name for field in fields(Record) if field.default is MISSING and field.default_factory is MISSING
)
_DEFAULTS: Final = {field.name: field.default for field in fields(Record) if field.name not in REQUIRED}
INTEGERS: Final = frozenset(field.name for field in fields(Record) if field.type in (int, int | None))
SETS: Final = frozenset(field.name for field in fields(Record) if field.type == frozenset[str])


def record_with(values: Mapping[str, Any]) -> Record:
    """Return a record with these values, whose names the caller knows to be fields.

    Raise KeyError when a field without a default is missing.
    """
    if missing := REQUIRED - values.keys():
        raise KeyError(min(missing))
    record = object.__new__(Record)
    record.__dict__.update(_DEFAULTS, **values)
    return record


def copy_with(record: Record, values: Mapping[str, Any]) -> Record:
    """Return a copy with other values, whose names the caller knows to be fields."""
    copy = object.__new__(Record)
    copy.__dict__.update(record.__dict__, **values)
    return copy
