"""Content that is too large for a record, in SQLite."""

from collections.abc import Sequence

from onthedot.engines.sqlite.database import Database


class SqliteBlobs:
    """A `Blobs` with one row for each key. It makes no links."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, key: str, content: bytes) -> None:
        with self._database.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO blobs VALUES (?, ?)", (key, content))

    def get(self, key: str) -> bytes | None:
        with self._database.reading() as connection:
            row = connection.execute("SELECT content FROM blobs WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row["content"])

    def keys(self, prefix: str, after: str, limit: int) -> Sequence[str]:
        query = "SELECT key FROM blobs WHERE key > ? AND substr(key, 1, ?) = ? ORDER BY key LIMIT ?"
        with self._database.reading() as connection:
            rows = connection.execute(query, (after, len(prefix), prefix, limit)).fetchall()
        return [row["key"] for row in rows]

    def delete(self, keys: Sequence[str]) -> None:
        with self._database.transaction() as connection:
            connection.executemany("DELETE FROM blobs WHERE key = ?", [(key,) for key in keys])

    def link(self, key: str, seconds: int) -> str | None:  # noqa: ARG002
        return None
