"""The state of the stage, and all entries of its stores, for exports and imports."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from onthedot.domain.transfer.entries import StoredEntry
from onthedot.domain.transfer.stage_state import StageState
from onthedot.ports.runs import RunStore


class StageStore(Protocol):
    """A store of the state of the stage."""

    @property
    def settle_ms(self) -> int:
        """So long after a change of the state, all processes follow it, and no earlier write is under way."""
        ...

    def read(self) -> StageState:
        """Return the state, at most a few seconds old."""
        ...

    def fresh(self) -> StageState:
        """Return the state as it is now."""
        ...

    def replace(self, seen: StageState, state: StageState) -> bool:
        """Replace the state that was seen. Return False if the stored state is another one.

        After a lost reply it may be the caller's own. Then the caller finds it when it reads again.
        """
        ...


class AlwaysOpen:
    """The `StageStore` of an engine that is never frozen, such as the engine of one test."""

    settle_ms = 0

    def read(self) -> StageState:
        return StageState()

    def fresh(self) -> StageState:
        return StageState()

    def replace(self, seen: StageState, state: StageState) -> bool:  # noqa: ARG002
        return False


@dataclass(frozen=True, slots=True)
class StoredPage:
    """One page of everything that a stage stores."""

    items: Sequence[StoredEntry]
    cursor: str | None
    """The place where the next page begins. None after the last page."""
    read: int
    """How many things were read. Not each one is an entry."""


class StoredEntries(Protocol):
    """Everything that a stage stores and an export has, all tenants included."""

    def page(self, limit: int, cursor: str | None = None) -> StoredPage:
        """Read at most `limit` things, as they are now, in an order that stays. Return the entries among them.

        A page may have no entries and still have a cursor.
        """
        ...

    def about(self) -> int | None:
        """Return about how many things all pages have together. None: it is not known."""
        ...

    def remember_event(self, tenant: str, digest: str, time: int, expires_at: int) -> bool:
        """Remember an event that another stage has received, by the hash of its id (`domain.ids.event_digest`).

        Return whether it was not remembered before.
        """
        ...


@dataclass(frozen=True, slots=True)
class Transfer:
    """The ports of exports and imports. Only the API has them."""

    entries: StoredEntries
    store: RunStore
    """The store of runs without the check that the stage is open, which is for imports only."""
