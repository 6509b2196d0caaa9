"""The history of the number of shards in SQLite."""

import sqlite3
from typing import Final

from onthedot.domain import shard_history
from onthedot.domain.shard_history import ShardHistory
from onthedot.engines.sqlite.database import Database
from onthedot.ports import Page

_PAGE_SIZE: Final = 1_000


class SqliteShardStore:
    """A `ShardStore` with one row."""

    def __init__(self, database: Database, page_size: int = _PAGE_SIZE) -> None:
        self._database = database
        self._page_size = page_size

    def read(self) -> ShardHistory:
        with self._database.reading() as connection:
            return _read(connection)

    def replace(self, seen: ShardHistory, history: ShardHistory) -> bool:
        with self._database.transaction() as connection:
            if _read(connection) != seen:
                return False
            connection.execute("INSERT OR REPLACE INTO shards VALUES (1, ?)", (shard_history.to_text(history),))
            return True

    def slots(self, cursor: str | None = None) -> Page[str]:
        query = (
            "SELECT id, slot FROM (SELECT run_id AS id, slot FROM runs UNION ALL SELECT gate, slot FROM gate_states)"
            " WHERE slot IS NOT NULL AND id > ? ORDER BY id LIMIT ?"
        )
        with self._database.reading() as connection:
            rows = connection.execute(query, (cursor or "", self._page_size + 1)).fetchall()
        page = rows[: self._page_size]
        return Page([row["slot"] for row in page], page[-1]["id"] if len(rows) > len(page) else None)


def _read(connection: sqlite3.Connection) -> ShardHistory:
    row = connection.execute("SELECT steps FROM shards").fetchone()
    return ShardHistory() if row is None else shard_history.from_text(row["steps"])
