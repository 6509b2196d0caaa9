"""Everything that an export has, in SQLite: table after table, each by its key."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from onthedot.domain.ids import event_digest
from onthedot.domain.runs.records import SETS
from onthedot.domain.transfer.entries import Entry, EntryKind, StoredEntry
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.patterns import HASHED
from onthedot.ports import StoredPage

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Table:
    """A table whose rows are entries."""

    columns: str
    key: tuple[str, ...]
    to_entry: Callable[[Row], Entry]
    where: str = "1"


def _record(row: Row) -> Entry:
    return Entry(EntryKind.RECORD, str(row["run_id"]), {k: _plain(k, v) for k, v in row.items() if v is not None})


def _plain(name: str, value: Any) -> Any:
    if name not in SETS:
        return value
    try:
        return json.loads(value)
    except (ValueError, TypeError):
        return value  # the importing stage names the fault


def _limits(row: Row) -> Entry:
    return Entry(EntryKind.LIMITS, row["name"], {"tenant": row["name"], "limits": row["content"]})


def _gate(row: Row) -> Entry:
    return Entry(EntryKind.GATE, f"{row['tenant']}/{row['name']}", dict(row))


def _rate(row: Row) -> Entry:
    return Entry(EntryKind.RATE, row["gate"], {"gate": row["gate"], "next_start": row["next_start"]})


def _event(row: Row) -> Entry:
    event_id = str(row["event_id"])
    digest = event_id.removeprefix(HASHED) if event_id.startswith(HASHED) else event_digest(event_id)
    about = {"tenant": row["tenant"], "digest": digest, "time": row["time"], "expires_at": row["expires_at"]}
    return Entry(EntryKind.EVENT, digest, about)


def _token(row: Row) -> Entry:
    return Entry(EntryKind.TOKEN, row["id"], {name: value for name, value in row.items() if value is not None})


def _signing(row: Row) -> Entry:
    return Entry(EntryKind.SIGNING, row["tenant"], dict(row))


_TABLES: Final = {
    # Earlier versions stored marks of throttled tenants beside the limits.
    "limits": _Table("name, content", ("name",), _limits, "substr(name, 1, 10) != 'throttled#'"),
    "gates": _Table("tenant, name, limits", ("tenant", "name"), _gate),
    "gate_states": _Table("gate, page, next_start", ("gate", "page"), _rate, "page = 0 AND next_start IS NOT NULL"),
    "events": _Table("tenant, event_id, time, expires_at", ("tenant", "event_id"), _event),
    "signing": _Table("tenant, keys", ("tenant",), _signing),
    "api_tokens": _Table("token_hash, id, tenant, role, name, created_at, expires_at", ("token_hash",), _token),
    "runs": _Table("*", ("run_id",), _record),
}
_ORDER: Final = tuple(_TABLES)


class SqliteStoredEntries:
    """A `StoredEntries`. A cursor is the name of a table and the last key that was read there."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(self, limit: int, cursor: str | None = None) -> StoredPage:
        entries: list[StoredEntry] = []
        following = cursor or _cursor(_ORDER[0], None)
        while len(entries) < limit:
            name, after = json.loads(following)
            found = self._rows(name, after, limit - len(entries))
            entries += found
            if len(entries) == limit:
                return StoredPage(entries, entries[-1].position, len(entries))
            if name == _ORDER[-1]:
                break
            following = _cursor(_ORDER[_ORDER.index(name) + 1], None)
        return StoredPage(entries, None, len(entries))

    def about(self) -> int:
        """Return how many entries there are now."""
        counts = (f"(SELECT count(*) FROM {name} WHERE {table.where})" for name, table in _TABLES.items())  # noqa: S608
        with self._database.reading() as connection:
            return int(connection.execute(f"SELECT {' + '.join(counts)}").fetchone()[0])

    def _rows(self, name: str, after: list[Any] | None, limit: int) -> list[StoredEntry]:
        """Return entries of one table that come after a key."""
        table = _TABLES[name]
        keys = ", ".join(table.key)
        later = "1" if after is None else f"({keys}) > ({', '.join('?' * len(table.key))})"
        query = f"SELECT {table.columns} FROM {name} WHERE {table.where} AND {later} ORDER BY {keys} LIMIT ?"  # noqa: S608
        with self._database.transaction() as connection:
            rows = [_values(row) for row in connection.execute(query, (*(after or ()), limit))]
        return [StoredEntry(table.to_entry(row), _cursor(name, [row[key] for key in table.key])) for row in rows]

    def remember_event(self, tenant: str, digest: str, time: int, expires_at: int) -> bool:
        with self._database.transaction() as connection:
            row = (tenant, HASHED + digest, time, expires_at)
            return connection.execute("INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?)", row).rowcount > 0


def _values(row: sqlite3.Row) -> Row:
    return dict(zip(row.keys(), row, strict=True))


def _cursor(table: str, key: list[Any] | None) -> str:
    return json.dumps([table, key])
