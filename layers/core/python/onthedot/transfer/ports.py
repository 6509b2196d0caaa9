"""Exports and imports."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onthedot.core.ports import RunStore
from onthedot.transfer.entries import StoredEntry

if TYPE_CHECKING:
    from onthedot.transfer.stored_entries import StoredEntries


@dataclass(frozen=True, slots=True)
class StoredPage:
    """One page of everything that a stage stores."""

    items: Sequence[StoredEntry]
    cursor: str | None
    """The place where the next page begins. None after the last page."""
    read: int
    """How many things were read. Not each one is an entry."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """The ports of exports and imports. Only the API has them."""

    entries: "StoredEntries"
    store: RunStore
    """The store of runs without the check that the stage is open, which is for imports only."""
