"""The store of runs, and the times of the ticks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, Self, TypeVar

from onthedot.domain.errors import Unreadable
from onthedot.domain.runs.dead_letters import ALWAYS, Window
from onthedot.domain.runs.listing import JobFacts
from onthedot.domain.runs.moves import Move
from onthedot.domain.runs.records import Kind, Priority, Record

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Deadline:
    """An instant after which an engine begins no more retries. The work that is left waits for the next pass."""

    at: int

    @classmethod
    def after(cls, now: int, milliseconds: int) -> Self:
        """Return the deadline that lies this far after the instant for which the caller decides."""
        return cls(now + milliseconds)

    def allows(self, now: int) -> bool:
        """Return whether there is time left."""
        return now < self.at

    def at_most(self, instant: int) -> "Deadline":
        """Return this deadline, or the instant if that is earlier."""
        return Deadline(min(self.at, instant))


@dataclass(frozen=True, slots=True)
class SlotEntry:
    """A run as the due index shows it: possibly stale, but enough to claim and to route it.

    An entry of kind `GATE` is a gate at which runs may wait. Its id is the text of the gate.
    """

    run_id: str
    slot: str
    fire_at: int
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
    """One page of a listing."""

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
    """The answer for a write that happened."""

    run: Record | None
    """The record after the write. `move` always returns it, `move_many` and `create_many` may not."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The answer for a write whose expectation did not hold.

    The engine retries a request whose reply was lost. So the refusing record may be the caller's own first write. A
    caller for which this matters compares the generation or the token of `current` with its own.
    """

    current: Record | None
    """The record that refused the write. None if there is none, or if it cannot be read."""
    unreadable: Unreadable | None = None
    """The record that refused the write, when it cannot be read."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """The answer when the engine does not know whether the write happened.

    The request was throttled, failed or ran out of time, or its reply was lost. The caller must read the record, or
    leave it for the next pass. It must not assume that the record is unchanged.
    """

    why: str
    permanent: bool = False
    """Whether another try cannot help: the store refuses this very write."""


class RunStore(Protocol):
    """A store of the records of jobs and runs.

    All writes are conditional. Reads by id are consistent, reads of slots are not.
    """

    def create(self, run: Record) -> Record | None:
        """Store the run if its id is free. Return None when it was stored, else the record that has the id.

        Raise UnreadableRecord when that record cannot be read.
        """
        ...

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Sequence["Moved | Refused | Undecided"]:
        """Store records with different ids, each one if its id is free. Return one answer for each, in order."""
        ...

    def runs_of(self, job_id: str, limit: int, cursor: str | None = None, *, until: int | None = None) -> Page[Record]:
        """Return a page of a job's stamped runs and skipped ranges as they are now, the latest fire time first.

        With `until`, those of later fire times are left out. Give it for each page.
        """
        ...

    def get(self, run_id: str) -> Record | None:
        """Return the record as it is now, or None when there is none. Raise UnreadableRecord."""
        ...

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> ReadRecords:
        """Return the records that exist, as they are now, by id."""
        ...

    def move(self, move: Move) -> Moved | Refused:
        """Apply one move, whole or not at all. When this raises Unavailable the move may have been applied.

        Raise UnreadableRecord when the move was applied and a field that it did not change cannot be read.
        """
        ...

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> Sequence[Moved | Refused | Undecided]:
        """Apply moves on different runs, each one on its own. Return one answer for each, in order."""
        ...

    def read_slot(self, slot: str, cursor: str | None = None, limit: int | None = None) -> Page[SlotEntry]:
        """Return a page of a slot, the earliest fire time first. `limit` makes the page smaller than usual."""
        ...

    def set_aside(self, run_id: str, slot: str, why: str, now: int) -> bool:
        """Move a record from this slot to the aside slot of the same shard, whether or not it can be read.

        Only `slot`, `aside_from`, `aside_since` and `aside_why` change. Return False when the record has left the slot.
        """
        ...

    def failed(self, tenant: str, limit: int, cursor: str | None = None, window: Window = ALWAYS) -> Page[Record]:
        """Return a page of a tenant's dead letters that ended in this window, the latest first, as they are now.

        A cursor is valid with the window that it was made with.

        The index may lag: a run that failed just now may be missing, and a page may have fewer runs than `limit`.
        """
        ...

    def listed(self, partition: str, limit: int, after: tuple[int, str] | None = None) -> tuple[list[ListEntry], bool]:
        """Return entries of a partition of the listing index, the latest first, and whether there may be more.

        `after` has the time of creation and the id of the last entry before them. Its job may be gone by now.
        """
        ...


class DueIndex(Protocol):
    """The index of due runs, as a whole."""

    def slots(self, cursor: str | None = None) -> Page[str]:
        """Return a page of the slot names of all records and gates in the index, in any order, some repeatedly.

        It reads the whole index, so only operators' commands call it. The index may lag.
        """
        ...


@dataclass(frozen=True, slots=True)
class TickLease:
    """The right to do the tick of some shards. At most one dispatcher has it at a time."""

    shards: tuple[int, ...]
    tick_id: str
    until: int
    """The instant at which another tick may begin, if the dispatcher dies."""


class TickTimes(Protocol):
    """The times of the last completed ticks, which the progress of the passes includes."""

    def last_ticks(self, shards: Sequence[int]) -> Mapping[int, int]:
        """Return the time of the last completed tick of each shard. A shard that no tick has visited is missing.

        The read may lag by some seconds.
        """
        ...
