"""Everything that an export has: all that is stored, where the key of an item says what it is."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from onthedot.core.gate_names import GateId
from onthedot.core.items import EXPIRES_AT, Item, Items
from onthedot.core.ports import RunStore
from onthedot.core.schema import (
    EVENT_PREFIX,
    GATE_PREFIX,
    GATES_PREFIX,
    LABEL,
    LIMITS_PARTITION,
    PARTITION_KEY,
    SIGNING_PREFIX,
    SORT_KEY,
    TENANT_PREFIX,
    TOKEN_PREFIX,
    Key,
    gate_name_of,
    gate_of,
    may_be_record,
    run_id_of,
)
from onthedot.gates.state_store import NEXT_START
from onthedot.transfer.entries import Entry, EntryKind, StoredEntry

_FIRST_PAGE: Final = "0"


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
    partition = item.key.partition
    if may_be_record(partition):
        return _record(item)
    if partition == LIMITS_PARTITION:
        return _limits(item)
    return next((read(item) for prefix, read in _BY_PREFIX.items() if partition.startswith(prefix)), None)


def _record(item: Item) -> Entry:
    # The label follows from the definition.
    values = {name: _plain(value) for name, value in item.values.items() if name != LABEL}
    run_id = run_id_of(item.key)
    return Entry(EntryKind.RECORD, run_id, {**values, "run_id": run_id, "job_id": item.key.partition})


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else value


def _limits(item: Item) -> Entry | None:
    # Earlier versions stored marks of throttled tenants next to the items that have this prefix.
    if not item.key.sort.startswith(TENANT_PREFIX):
        return None
    tenant = item.key.sort.removeprefix(TENANT_PREFIX)
    return Entry(EntryKind.LIMITS, tenant, {"tenant": tenant, "limits": _text(item, "limits")})


def _gate(item: Item) -> Entry:
    tenant, name = item.key.partition.removeprefix(GATES_PREFIX), gate_name_of(item.key)
    return Entry(EntryKind.GATE, f"{tenant}/{name}", {"tenant": tenant, "name": name, "limits": _text(item, "limits")})


def _rate(item: Item) -> Entry | None:
    gate, started = gate_of(item.key), item.values.get(NEXT_START)
    if gate is None or started is None or item.key.sort != _FIRST_PAGE:
        return None
    return Entry(EntryKind.RATE, gate, {"gate": gate, "next_start": started})


def _event(item: Item) -> Entry:
    # The text of a gate is made of a tenant and a name in the same way.
    event = GateId.read(item.key.partition.removeprefix(EVENT_PREFIX))
    about = {"tenant": event.tenant, "digest": event.name}
    times = {"time": item.values.get("event_time"), "expires_at": item.values.get(EXPIRES_AT)}
    return Entry(EntryKind.EVENT, event.name, {**about, **times})


def _signing(item: Item) -> Entry:
    tenant = item.key.partition.removeprefix(SIGNING_PREFIX)
    return Entry(EntryKind.SIGNING, tenant, {"tenant": tenant, "keys": _text(item, "keys")})


def _token(item: Item) -> Entry:
    token_hash = item.key.partition.removeprefix(TOKEN_PREFIX)
    about = {name: _text(item, name) for name in ("tenant", "role", "name")}
    # A token that an earlier version made has no id.
    about |= {"token_hash": token_hash, "id": _text(item, "id") or f"tok_{token_hash[:12]}"}
    expiry = item.values.get("valid_until")
    times = {"created_at": item.values.get("token_created_at"), **({} if expiry is None else {"expires_at": expiry})}
    return Entry(EntryKind.TOKEN, about["id"], {**about, **times})


_BY_PREFIX: Final[Mapping[str, Callable[[Item], Entry | None]]] = {
    GATES_PREFIX: _gate,
    GATE_PREFIX: _rate,
    EVENT_PREFIX: _event,
    SIGNING_PREFIX: _signing,
    TOKEN_PREFIX: _token,
}


def _text(item: Item, name: str) -> str:
    return str(item.values.get(name, ""))
