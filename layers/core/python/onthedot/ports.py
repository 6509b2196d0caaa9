"""What the use cases need from an engine. Two engines stand behind these protocols and pass one contract suite.

Every method that talks to something outside may raise `Unavailable` when bounded retries were not enough.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from onthedot.domain.fairness import Limits, TenantLimits
from onthedot.domain.lifecycle import Plan
from onthedot.domain.lifecycle_events import LifecycleEvent
from onthedot.domain.progress import Progress
from onthedot.domain.run import Definition, Kind, Move, Priority, Record
from onthedot.domain.webhooks import SigningKey
from onthedot.domain.workers import Load, WorkerRecord
from onthedot.stopping import Stop


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> int:
        """The present, in epoch milliseconds."""
        ...

    def sleep_until(self, instant: int) -> None:
        """Return at or after the instant, never before it."""
        ...


@dataclass(frozen=True, slots=True)
class Deadline:
    """The instant after which no more retries are begun; what is left then is left for the next tick."""

    at: int

    def allows(self, now: int) -> bool:
        return now < self.at


@dataclass(frozen=True, slots=True)
class SlotEntry:
    """A run as the due index shows it: possibly stale, enough to claim and to route."""

    run_id: str
    slot: str
    fire_at: int
    generation: str
    tenant: str
    priority: Priority
    pool: str
    kind: Kind
    token: str | None = None


@dataclass(frozen=True, slots=True)
class SlotPage:
    entries: Sequence[SlotEntry]
    cursor: str | None
    """Where to go on reading; None when this was the last page."""


@dataclass(frozen=True, slots=True)
class Moved:
    run: Record | None
    """The run after the move, where the engine gives it back (`move` always does, `move_many` may not)."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The expectation did not hold; `current` is what stands there instead, None if nothing does."""

    current: Record | None


@dataclass(frozen=True, slots=True)
class Undecided:
    """Throttled, failed or out of time: whatever was left as it was. The caller leaves it for the next pass."""

    why: str


@dataclass(frozen=True, slots=True)
class RunPage:
    runs: Sequence[Record]
    cursor: str | None
    """Where to go on reading; None when this was the last page."""


class RunStore(Protocol):
    """Remembers runs. All writes are conditional; reads by id are consistent, reads of slots are not."""

    def create(self, run: Record) -> Record | None:
        """Store the run if its id is free. Returns None when stored, else the run that stands there."""
        ...

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Sequence["Moved | Refused | Undecided"]:
        """Store records with different ids, each if its id is free; refused ones show what stands there."""
        ...

    def runs_of(self, job_id: str, limit: int, cursor: str | None = None) -> RunPage:
        """A page of a recurring job's runs and skipped ranges as they are now, the latest fire time first."""
        ...

    def get(self, run_id: str) -> Record | None:
        """The run as it is now."""
        ...

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> Mapping[str, Record]:
        """The runs that exist, as they are now. What could not be read in time is missing."""
        ...

    def move(self, move: Move) -> Moved | Refused:
        """Apply one move, whole or not at all."""
        ...

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        """Apply moves on different runs, each on its own; one answer for each, in order."""
        ...

    def read_slot(self, slot: str, cursor: str | None = None) -> SlotPage:
        """A page of a slot, earliest fire time first."""
        ...

    def failed(self, tenant: str, limit: int, cursor: str | None = None) -> RunPage:
        """A page of a tenant's dead letters, the latest first: runs that are FAILED, as they are now.

        The index may lag: one that failed just now may be missing, and a page may hold fewer than `limit`.
        """
        ...


class ProgressStore(Protocol):
    """Remembers how far the passes of a shard group have come."""

    def read_progress(self, group: int) -> Progress: ...

    def write_progress(self, group: int, progress: Progress) -> None: ...


@dataclass(frozen=True, slots=True)
class RunMessage:
    """What waits in a queue: which run, and which scheduling of it is meant."""

    run_id: str
    generation: str
    fire_at: int
    tenant: str
    priority: Priority
    pool: str


@dataclass(frozen=True, slots=True)
class Received:
    """A message as a worker receives it."""

    message: RunMessage
    receipt: str
    receive_count: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """How far a queue is behind. `oldest_age_ms` is None where the engine cannot tell."""

    visible: int
    oldest_age_ms: int | None


class RunQueues(Protocol):
    """Waits the last minutes: delayed, at-least-once delivery by pool and priority."""

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:
        """Send each message so that it arrives in the second before its fire time. Returns what was not sent.

        The delay is computed from the clock at each send, retries included.
        """
        ...

    def backlog(self, pool: str, priority: Priority) -> Backlog: ...

    def receive(
        self, pool: str, priority: Priority, maximum: int, *, visibility_ms: int, wait_ms: int = 0
    ) -> Sequence[Received]:
        """At most ten messages, hidden from others for a while. With `wait_ms` (≤ 20 s) it waits for the first one.

        What is no message of ours is not returned; it comes again until it is a dead letter.
        """
        ...

    def delete(self, received: Received) -> None:
        """The message has served. Nothing happens when it is gone, or delivered to somebody else by now."""
        ...

    def hide(self, received: Received, milliseconds: int) -> None:
        """Give a received message back, visible again after this time (at most 12 h)."""
        ...


@dataclass(frozen=True, slots=True)
class Tick:
    """Look at these shards now. `tick_id` is the same each time the message is delivered again."""

    group: int
    shards: tuple[int, ...]
    planned_at: int
    tick_id: str = ""
    redelivered: bool = False


class TickQueue(Protocol):
    def send_ticks(self, ticks: Sequence[Tick]) -> Sequence[Tick]:
        """Returns what was not sent after bounded retries."""
        ...


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is calling."""

    tenant: str
    role: str
    name: str


class LimitsStore(Protocol):
    """Remembers tenants' limits, and who is held back by them."""

    def read(self) -> Limits: ...

    def put(self, tenant: str, limits: TenantLimits | None) -> None:
        """Limit a tenant, or lift its limits."""
        ...

    def mark_held(self, group: int, held: Mapping[str, str]) -> None:
        """Note who a group of shards holds back now, and why."""
        ...


class TokenStore(Protocol):
    """Knows tokens by their hash only."""

    def find(self, token_hash: str) -> Principal | None: ...

    def add(self, token_hash: str, principal: Principal, created_at: int) -> None: ...


class Blobs(Protocol):
    """Keeps what is too large for a record, by a key that is derived from the content."""

    def put(self, key: str, content: bytes) -> None: ...

    def get(self, key: str) -> bytes | None: ...

    def link(self, key: str, seconds: int) -> str | None:
        """A URL that shows the content to whoever has it, for this time; None where the engine has no such thing."""
        ...


class WorkerRegistry(Protocol):
    """Knows the pull workers. Their own items, beside the runs; read consistently by id, else eventually."""

    def register(self, worker: WorkerRecord) -> None:
        """Write it, whatever was there before."""
        ...

    def find(self, worker_id: str) -> WorkerRecord | None: ...

    def beat(self, worker_id: str, now: int, load: Load) -> WorkerRecord | None:
        """Note that it lives and what it does. Returns it as it is then; None: it is not known, and must register."""
        ...

    def assign(self, worker_id: str, run_id: str) -> bool:
        """Hand a run to this very worker; whether there is such a worker."""
        ...

    def unassign(self, worker_id: str, run_ids: Sequence[str]) -> None:
        """The worker has taken them, or they are not to be had any more."""
        ...

    def workers(self) -> Sequence[WorkerRecord]:
        """All that are not forgotten yet."""
        ...


class SigningStore(Protocol):
    """Knows the keys that sign a tenant's calls."""

    def keys(self, tenant: str) -> Sequence[SigningKey]:
        """The newest first; none before the first use."""
        ...

    def replace(self, tenant: str, seen: Sequence[SigningKey], keys: Sequence[SigningKey]) -> bool:
        """Put `keys` in the place of those that were seen; whether nobody else was faster."""
        ...


@dataclass(frozen=True, slots=True)
class PatternEntry:
    """That a job waits for events: the index narrows, the job itself decides."""

    job_id: str
    name: str
    """`Record.pattern_entry` of the job that these entries belong to. An entry that no job names is left over."""
    pattern: str
    put_at: int


class PatternStore(Protocol):
    """Finds the patterns that an event can match, at the price of those alone; remembers events by their ids."""

    def put(self, tenant: str, keys: Sequence[str], entry: PatternEntry) -> None:
        """Let the entry be found under each of at most 25 keys. Raises Unavailable when not all of them stand."""
        ...

    def remove(self, tenant: str, keys: Sequence[str], job_id: str, name: str) -> None:
        """Nothing happens where it does not stand."""
        ...

    def matching(self, tenant: str, keys: Sequence[str]) -> Iterator[PatternEntry]:
        """All that stands under these keys, read consistently, page by page; what stands under two comes twice."""
        ...

    def first_time(self, tenant: str, event_id: str, time: int, expires_at: int) -> int:
        """The time with which this event came first: this one, unless it was remembered before."""
        ...


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt as the target sees it."""

    run_id: str
    job_id: str
    attempt: int
    nominal_at: int
    definition: Definition
    payload: bytes
    timeout_ms: int
    signature: Mapping[str, str] = field(default_factory=dict)
    """Headers that sign the payload, for those who receive it over HTTP."""
    stop: Stop = field(default_factory=Stop)


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a call: `ok`, or an error in people's words and whether trying again can help."""

    ok: bool
    result: str | None = None
    """JSON or other text, whole up to `RESULT_BYTES`."""
    error: str | None = None
    error_class: str | None = None
    """What kind of error, as a short stable word."""
    retryable: bool = True
    retry_after_ms: int | None = None
    lost: bool = False
    """The process that ran it died of it: counted as a lost worker, not as a failure."""
    released: bool = False
    """The worker had to end before the target did: counted as nothing, and tried again at once."""


RESULT_BYTES: Final = 1024 * 1024
"""What is longer is cut by the target."""


class Target(Protocol):
    """Performs one attempt. Never raises for what the other side does; never outlasts the call's time-out.

    When the call is asked to stop it ends soon, whatever the other side does.
    """

    def perform(self, call: Call) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Change:
    """What a write made of a record, as the store's stream tells it."""

    position: str
    """Where it stands in the stream."""
    old: Record | None
    new: Record | None
    at: int
    """When, to the second."""


@dataclass(frozen=True, slots=True)
class Unpublishable:
    """The bus will never take this event."""

    why: str


class EventBus(Protocol):
    """Where others hear of jobs and runs."""

    def publish(
        self, events: Sequence[LifecycleEvent], deadline: Deadline
    ) -> Sequence[Undecided | Unpublishable | None]:
        """An answer for each event: None is published. What may pass is tried again until the deadline."""
        ...


@dataclass(frozen=True, slots=True)
class Engine:
    """What scheduling stands on, wired by `bootstrap`."""

    store: RunStore
    queues: RunQueues
    blobs: Blobs
    clock: Clock
    plan: Plan
    limits: LimitsStore
    registry: WorkerRegistry
    signing: SigningStore
    patterns: PatternStore
