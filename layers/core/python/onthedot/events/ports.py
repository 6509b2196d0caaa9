"""Entries of the index of patterns, changes of records, and the bus for lifecycle events."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from onthedot.core.ports import Deadline, Undecided
from onthedot.core.records import Record
from onthedot.events.lifecycle import LifecycleEvent


@dataclass(frozen=True, slots=True)
class PatternEntry:
    """An entry of the pattern index: this job may have a run for an event that is found under the entry's key.

    The index only narrows the search. The pattern of the job decides.
    """

    job_id: str
    name: str
    """`Record.pattern_entry` of the job. An entry whose job has another name is left over from an earlier pattern."""
    pattern: str
    """The pattern as JSON."""
    put_at: int


@dataclass(frozen=True, slots=True)
class RecordChange:
    """One write on a record, as the stream of the store shows it."""

    position: str
    """The place of the change in the stream."""
    old: Record | None
    """The record before the write. None when it was created."""
    new: Record | None
    """The record after the write. None when it was removed."""
    at: int
    """The time of the write, exact to the second."""


@dataclass(frozen=True, slots=True)
class Unpublishable:
    """The answer for an event that the bus will never take."""

    why: str


class EventBus(Protocol):
    def publish(
        self, events: Sequence[LifecycleEvent], deadline: Deadline
    ) -> Sequence[Undecided | Unpublishable | None]:
        """Publish the events and return one answer for each, in order. None: the event is published.

        Errors that may pass are retried until the deadline. An event that is Undecided then may have been published.
        """
        ...
