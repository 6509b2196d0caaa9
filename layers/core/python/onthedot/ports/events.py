"""Events in and events out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from onthedot.domain.reports.lifecycle_events import LifecycleEvent
from onthedot.domain.runs.records import Record
from onthedot.ports.runs import Deadline, Undecided


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
class RecordChange:
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
