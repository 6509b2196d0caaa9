"""What the core asks of an engine: the store of runs, queues, blobs, the clock, and performers of targets.

Both engines implement them and pass one contract suite. A method that calls something outside of the process may raise
`Unavailable` after its bounded retries. A write that raised it may have happened anyway.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final, Generic, Protocol, Self, TypeVar

from onthedot.core.choices import Priority
from onthedot.core.errors import Unreadable
from onthedot.core.listing import ALWAYS, JobFacts, Window
from onthedot.core.moves import Move
from onthedot.core.progress import LatestProgress
from onthedot.core.records import Definition, Kind, Record
from onthedot.core.stopping import Stop

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Deadline:
    """An instant after which an engine begins no more retries. The work that is left waits for the next pass."""

    at: int

    @classmethod
    def after(cls, now: int, milliseconds: int) -> Self:
        return cls(now + milliseconds)

    def allows(self, now: int) -> bool:
        return now < self.at

    def at_most(self, instant: int) -> "Deadline":
        return Deadline(min(self.at, instant))


@dataclass(frozen=True, slots=True)
class SlotEntry:
    """A run as the due index shows it: possibly stale, but enough to claim and to route it.

    An entry of kind `GATE` is a gate at which runs may wait. Its id is the text of the gate.
    """

    run_id: str
    slot: str
    due_at: int
    generation: str
    tenant: str
    priority: Priority
    pool: str
    kind: Kind
    claim_token: str | None = None
    gates: tuple[str, ...] = ()
    start_by: int | None = None


@dataclass(frozen=True, slots=True)
class ListEntry:
    """A job as the listing index shows it: possibly stale."""

    run_id: str
    created_at: int
    facts: JobFacts | None
    """None: the index does not show them, and only the record has them."""


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    items: Sequence[Item]
    cursor: str | None
    """The place where the next page begins. None after the last page."""
    unreadable: Sequence[Unreadable] = ()
    """The records of this page that cannot be read. They are not among the items."""


@dataclass(frozen=True, slots=True)
class ReadRecords:
    """The answer to a read of many records by id. An id that is nowhere here has no record."""

    found: Mapping[str, Record]
    unreadable: Mapping[str, Unreadable] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()
    """The ids that were not read before the deadline."""


@dataclass(frozen=True, slots=True)
class Moved:
    run: Record | None
    """The record after the write. `move` always returns it, `move_many` and `create_many` may not."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The answer for a write whose expectation did not hold.

    The engine retries a request whose reply was lost, so the refusing record may be the caller's own first write (see
    `outcomes`).
    """

    current: Record | None
    """The record that refused the write. None if there is none, or if it cannot be read."""
    unreadable: Unreadable | None = None


@dataclass(frozen=True, slots=True)
class Undecided:
    """The answer when the engine does not know whether the write happened.

    The caller reads the record again, or leaves it for the next pass. It must not assume that the record is unchanged.
    """

    why: str
    permanent: bool = False
    """Whether another try cannot help: the store refuses this very write."""


class RunStore(Protocol):
    """A store of the records of jobs and runs.

    All writes are conditional. Reads by id are consistent, reads of slots are not.
    """

    def create(self, run: Record) -> Record | None:
        """Store the run if its id is free, else return the record that has it. Raise UnreadableRecord."""

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Sequence["Moved | Refused | Undecided"]:
        """Store records with different ids, each one if its id is free. Return one answer for each, in order."""

    def runs_of(self, job_id: str, limit: int, cursor: str | None = None, *, until: int | None = None) -> Page[Record]:
        """Return a page of a job's stamped runs and skipped ranges as they are now, the latest fire time first.

        `until` leaves later ones out. Give it for each page.
        """

    def get(self, run_id: str) -> Record | None:
        """Return the record as it is now, or None when there is none. Raise UnreadableRecord."""

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> ReadRecords:
        """Return the records that exist, as they are now, by id."""

    def move(self, move: Move) -> Moved | Refused:
        """Apply one move, whole or not at all. When this raises Unavailable the move may have been applied.

        Raise UnreadableRecord when it was applied and a field that it did not change cannot be read.
        """

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        """Apply moves on different runs, each one on its own. Return one answer for each, in order."""

    def read_slot(self, slot: str, cursor: str | None = None, limit: int | None = None) -> Page[SlotEntry]:
        """Return a page of a slot, the earliest fire time first. `limit` makes the page smaller than usual."""

    def set_aside(self, run_id: str, slot: str, why: str, now: int) -> bool:
        """Move a record, readable or not, to the aside slot of its shard. Return False when it has left `slot`."""

    def failed(self, tenant: str, limit: int, cursor: str | None = None, window: Window = ALWAYS) -> Page[Record]:
        """Return a page of a tenant's dead letters that ended in this window, the latest first, as they are now.

        A cursor is valid with the window that it was made with. The index may lag: a run that failed just now may be
        missing, and a page may have fewer runs than `limit`.
        """

    def listed(self, partition: str, limit: int, after: tuple[int, str] | None = None) -> tuple[list[ListEntry], bool]:
        """Return entries of a partition of the listing index, the latest first, and whether there may be more.

        `after` has the creation time and the id of the last entry before them, whose job may no longer exist.
        """


class DueIndex(Protocol):
    def slots(self, cursor: str | None = None) -> Page[str]:
        """Return a page of the slot names of all records and gates, in any order, some repeatedly.

        It reads the whole index, which may lag, so only operators' commands call it.
        """


@dataclass(frozen=True, slots=True)
class TickLease:
    """The right to do the tick of some shards. At most one dispatcher has it at a time."""

    shards: tuple[int, ...]
    tick_id: str
    until: int


class TickTimes(Protocol):
    def last_ticks(self, shards: Sequence[int]) -> Mapping[int, int]:
        """Return the time of the last completed tick of each shard that had one. The read may lag by some seconds."""


class Clock(Protocol):
    def now(self) -> int: ...

    def sleep_until(self, instant: int) -> None:
        """Sleep, and return at or after the instant, never before it."""


class Blobs(Protocol):
    def put(self, key: str, content: bytes) -> None: ...

    def get(self, key: str) -> bytes | None: ...

    def link(self, key: str, seconds: int) -> str | None:
        """Return a URL that shows the content to anyone for this many seconds. None: the engine cannot make one."""


class ListedBlobs(Blobs, Protocol):
    def keys(self, prefix: str, after: str, limit: int) -> Sequence[str]:
        """Return the first keys with this prefix that come after a key, in order."""

    def delete(self, keys: Sequence[str]) -> None:
        """Delete these blobs. A key without a blob is not an error."""


Where = tuple[str, Priority]


class Observer(Protocol):
    """A collector of metrics. Safe to use from several threads. It never fails and never waits."""

    def add(self, name: str, number: int = 1, where: Where | None = None) -> None: ...

    def observe(self, name: str, value: int, where: Where | None = None) -> None:
        """Note one value of a metric whose values matter one by one, 0 included."""


@dataclass(frozen=True, slots=True)
class Call:
    run_id: str
    job_id: str
    attempt: int
    fire_time: int
    definition: Definition
    payload: bytes
    timeout_ms: int
    signature: Mapping[str, str] = field(default_factory=dict)
    stop: Stop = field(default_factory=Stop)
    progress: LatestProgress = field(default_factory=LatestProgress)
    started_at: int = 0
    """0: not known."""
    traceparent: str = ""
    """The W3C header with the span of this attempt. Empty: not known."""


@dataclass(frozen=True, slots=True)
class Answer:
    ok: bool
    result: str | None = None
    """The answer of the target: JSON or other text, cut after `RESULT_BYTES`."""
    error: str | None = None
    error_class: str | None = None
    retryable: bool = True
    retry_after_ms: int | None = None
    """The shortest wait before the next attempt that the target asks for."""
    lost: bool = False
    """The process that ran the attempt died. This counts as a lost attempt, not as a failure."""
    handed_back: bool = False
    """The worker had to end before the target did, or could not make the call. This counts neither as a failure nor as
    a loss, and the run is tried again after `retry_after_ms`, or at once."""

    @property
    def outcome(self) -> str:
        """The outcome of the attempt, as in its record."""
        if self.ok:
            return "succeeded"
        return "lost" if self.lost else "released" if self.handed_back else "failed"


RESULT_BYTES: Final = 1024 * 1024
"""The longest result. The performer cuts a longer one."""


class Performer(Protocol):
    """Code that calls one type of target.

    It never raises because of the target's behaviour, takes no longer than the call's timeout, and ends soon when it
    is asked to stop, whatever the target does.
    """

    def perform(self, call: Call) -> Answer: ...


@dataclass(frozen=True, slots=True)
class RunMessage:
    """A message in a run queue. It names a run and one scheduling of it, which is its generation."""

    run_id: str
    generation: str
    due_at: int
    tenant: str
    priority: Priority
    pool: str
    gates: tuple[str, ...] = ()
    """The gates that the run itself names. A stamped run asks the gates of its job instead."""
    woken: str | None = None
    start_by: int | None = None
    trace: str | None = None
    """The stored trace of the run. A message that is made from the due index has none, because the index has none."""


@dataclass(frozen=True, slots=True)
class Received:
    message: RunMessage
    receipt: str
    receive_count: int


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """The number of messages of a queue in each state. On AWS the numbers are approximate."""

    visible: int
    delayed: int
    in_flight: int
    dead: int
    name: str = ""
    """The priorities of a pool may share one queue."""


class RunQueues(Protocol):
    """The queues by pool and priority, in which the messages of runs wait for the last minutes before they are due.

    Delivery is delayed and happens at least once.
    """

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:
        """Send each message so that it arrives in the second before its fire time.

        The delay is computed from the clock at each send, retries included. Return the messages whose sending was not
        confirmed before the deadline. A queue that fails keeps only its own messages from being sent.
        """

    def visible(self, pool: str, priority: Priority) -> int:
        """Return the number of messages that a worker could receive now.

        Raise Unreachable when the stage has no such queue or may not use it. Raise Unavailable when it does not answer.
        """

    def oldest_age_ms(self, pool: str, priority: Priority) -> int | None:
        """Return the age of the oldest message, or None when it is not known. This never raises Unavailable.

        Another service than the queue may have to answer, so a caller asks only when its decision depends on the age.
        """

    def counts(self, pool: str, priority: Priority) -> QueueCounts:
        """Return the number of messages in each state, dead letters included. Raise as `visible` does."""

    def receive(
        self, pool: str, priority: Priority, maximum: int, *, visibility_ms: int, wait_ms: int = 0
    ) -> Sequence[Received]:
        """Return at most ten messages and hide them from other workers for `visibility_ms`.

        With `wait_ms` (at most 20 s) wait for the first one. A message that onthedot did not write is not returned, and
        becomes a dead letter.
        """

    def delete(self, received: Received) -> None:
        """Delete a message. Nothing happens when it is gone, or when another worker has received it since."""

    def hide(self, received: Received, milliseconds: int) -> None:
        """Give a received message back to its queue. It is visible again after this time (at most 12 h)."""


class LeaseWait(Protocol):
    @property
    def is_over(self) -> bool:
        """Whether the lease must not wait any longer: it was asked to look, or the caller has gone."""

    def receive(
        self, pool: str, priorities: Sequence[Priority], *, visibility_ms: int, until: int
    ) -> Sequence[Received]:
        """Wait for one message of these queues, in this order, and hide it. Return none when the wait is over."""


class LeaseWaits(Protocol):
    """The lease calls that wait, by worker. Only an engine on which a wait costs nothing has them."""

    def of(self, worker_id: str, gone: Stop) -> AbstractContextManager[LeaseWait]:
        """Return the wait of a lease that begins now. It ends when `gone` is asked."""

    def end(self, worker_id: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Tick:
    """A message of the planner to a dispatcher: run the passes of these shards now."""

    group: int
    shards: tuple[int, ...]
    planned_at: int
    tick_id: str = ""
    """The id of the message. It stays the same when the queue delivers the message again."""
    redelivered: bool = False


class TickQueue(Protocol):
    def send_ticks(self, ticks: Sequence[Tick]) -> Sequence[Tick]:
        """Send the ticks. Return the ticks whose sending was not confirmed after bounded retries."""
