"""Content that is too large for a record, in SQLite."""

from onthedot.engines.sqlite.database import Database


class SqliteBlobs:
    """A `Blobs` with one row for each key. It makes no links."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, key: str, content: bytes) -> None:
        with self._database.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO blobs VALUES (?, ?)", (key, content))

    def get(self, key: str) -> bytes | None:
        with self._database.transaction() as connection:
            row = connection.execute("SELECT content FROM blobs WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row["content"])

    def link(self, key: str, seconds: int) -> str | None:  # noqa: ARG002
        return None
