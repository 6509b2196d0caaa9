"""A connection of APSW that looks like one of Python's sqlite3, as far as the embedded engine uses it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import apsw

from onthedot.engines.sqlite.database import Connect
from tests.durability.power.recording import VFS_NAME

Rewrite = Callable[[str], str]


class Row(tuple[Any, ...]):
    """A row whose values are found by number and by name."""

    names: tuple[str, ...]

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self.names.index(key) if isinstance(key, str) else key)

    def keys(self) -> tuple[str, ...]:
        return self.names


class ApswCursor:
    """The rows of one statement."""

    def __init__(self, rows: list[Row], rowcount: int) -> None:
        self._rows = iter(rows)
        self.rowcount = rowcount

    def __iter__(self) -> Iterator[Row]:
        return self._rows

    def fetchone(self) -> Row | None:
        return next(self._rows, None)

    def fetchall(self) -> list[Row]:
        return list(self._rows)


class ApswConnection:
    """A connection that writes through the recording file system."""

    row_factory: Any = None

    def __init__(self, path: str | Path, rewrite: Rewrite) -> None:
        self._connection = apsw.Connection(str(path), vfs=VFS_NAME, statementcachesize=512)
        self._rewrite = rewrite

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def execute(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> ApswCursor:
        cursor = self._connection.cursor()
        cursor.execute(self._rewrite(statement), values or None)
        return ApswCursor(_rows(cursor), self._connection.changes())

    def executemany(self, statement: str, values: Sequence[Sequence[Any]]) -> None:
        self._connection.cursor().executemany(statement, values)

    def close(self) -> None:
        self._connection.close()


def _rows(cursor: apsw.Cursor) -> list[Row]:
    try:
        names = tuple(column[0] for column in cursor.get_description())
    except apsw.ExecutionCompleteError:
        return []
    rows = [Row(values) for values in cursor]
    for row in rows:
        row.names = names
    return rows


def connect_by_apsw(rewrite: Rewrite = lambda statement: statement) -> Connect:
    """Return a `connect` for `Database`. `rewrite` may change statements, to plant a fault."""
    return cast("Connect", lambda path: ApswConnection(path, rewrite))
