"""Runs, and the progress of the passes over their slots."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from onthedot.domain.runs.pass_progress import PassProgress
from onthedot.domain.runs.records import Kind, Move, Priority, Record

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Deadline:
    """The instant after which no more retries are begun; what is left then is left for the next tick."""

    at: int

    @classmethod
    def after(cls, now: int, milliseconds: int) -> Self:
        """Return the deadline that lies this far after the instant for which the caller decides."""
        return cls(now + milliseconds)

    def allows(self, now: int) -> bool:
        """Whether there is time left."""
        return now < self.at

    def at_most(self, instant: int) -> "Deadline":
        """Return this deadline, or the instant if that is earlier."""
        return Deadline(min(self.at, instant))


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
    claim_token: str | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """One page of a listing."""

    items: Sequence[Item]
    cursor: str | None
    """The place where the next page begins. None after the last page."""


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


class RunStore(Protocol):
    """Remembers runs. All writes are conditional; reads by id are consistent, reads of slots are not."""

    def create(self, run: Record) -> Record | None:
        """Store the run if its id is free. Returns None when stored, else the run that stands there."""
        ...

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Sequence["Moved | Refused | Undecided"]:
        """Store records with different ids, each if its id is free; refused ones show what stands there."""
        ...

    def runs_of(self, job_id: str, limit: int, cursor: str | None = None) -> Page[Record]:
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

    def read_slot(self, slot: str, cursor: str | None = None) -> Page[SlotEntry]:
        """A page of a slot, earliest fire time first."""
        ...

    def failed(self, tenant: str, limit: int, cursor: str | None = None) -> Page[Record]:
        """A page of a tenant's dead letters, the latest first: runs that are FAILED, as they are now.

        The index may lag: one that failed just now may be missing, and a page may hold fewer than `limit`.
        """
        ...


class ProgressStore(Protocol):
    """Remembers how far the passes of a shard group have come."""

    def read_progress(self, group: int) -> PassProgress: ...

    def write_progress(self, group: int, progress: PassProgress) -> None: ...
