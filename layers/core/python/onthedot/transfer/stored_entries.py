"""Everything that an export has: all that is stored, where the key of an item says what it is."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from onthedot.core.items import Item, Items
from onthedot.core.ports import RunStore
from onthedot.core.schema import LABEL, PARTITION_KEY, SORT_KEY, Key, may_be_record, run_id_of
from onthedot.transfer.entries import RECORD, Entry, StoredEntry
from onthedot.transfer.kinds import KINDS


@dataclass(frozen=True, slots=True)
class StoredPage:
    items: Sequence[StoredEntry]
    cursor: str | None
    """The place where the next page begins. None after the last page."""
    read: int


class StoredEntries:
    def __init__(self, items: Items) -> None:
        self._items = items

    def page(self, limit: int, cursor: str | None = None) -> StoredPage:
        """Read at most `limit` things, in an order that stays. A page may have no entries and still have a cursor."""
        found, last = self._items.scan(limit, None if cursor is None else _key(cursor))
        entries = [StoredEntry(entry, _cursor(item.key)) for item in found if (entry := _entry(item)) is not None]
        return StoredPage(entries, None if last is None else _cursor(last), len(found))

    def about(self) -> int | None:
        return self._items.about()


@dataclass(frozen=True, slots=True)
class Transfer:
    """The ports of exports and imports. Only the API has them."""

    entries: StoredEntries
    store: RunStore
    """The store of runs without the check that the stage is open, which is for imports only."""


def _cursor(key: Key) -> str:
    return json.dumps({PARTITION_KEY: {"S": key.partition}, SORT_KEY: {"S": key.sort}})


def _key(cursor: str) -> Key:
    read = json.loads(cursor)
    return Key(read[PARTITION_KEY]["S"], read[SORT_KEY]["S"])


def _entry(item: Item) -> Entry | None:
    """Return the entry of an item. None: an export does not have it, such as progress, workers and patterns."""
    if may_be_record(item.key.partition):
        return _record(item)
    for name, kind in KINDS.items():
        if item.key.partition.startswith(kind.prefix):
            found = kind.read(item)
            return None if found is None else Entry(name, *found)
    return None


def _record(item: Item) -> Entry:
    # The label follows from the definition.
    values = {name: _plain(value) for name, value in item.values.items() if name != LABEL}
    run_id = run_id_of(item.key)
    return Entry(RECORD, run_id, {**values, "run_id": run_id, "job_id": item.key.partition})


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else value
