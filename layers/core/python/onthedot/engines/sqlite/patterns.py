"""The index of the patterns of event jobs, and the ids of received events, in SQLite."""

from collections.abc import Iterator, Sequence
from typing import Final

from onthedot.domain.ids import event_digest
from onthedot.engines.sqlite.database import Database
from onthedot.ports import Clock, PatternEntry

_PAGE: Final = 500
_PURGED_AT_ONCE: Final = 100
_FORGET: Final = (
    "DELETE FROM events WHERE (tenant, event_id) IN (SELECT tenant, event_id FROM events WHERE expires_at <= ? LIMIT ?)"
)
HASHED: Final = "sha256:"
"""Stands before the hash of an event's id, if an import stored the event: the id itself is not known then."""
_IMPORTED: Final = "SELECT time FROM events WHERE tenant = ? AND event_id = ? AND expires_at > ?"
_REMEMBER: Final = (
    "INSERT INTO events VALUES (?, ?, ?, ?) ON CONFLICT (tenant, event_id) DO UPDATE"
    " SET time = excluded.time, expires_at = excluded.expires_at WHERE events.expires_at <= ?"
)


class SqlitePatternStore:
    """A `PatternStore`.

    Each page starts after the last key of the previous page, so a write in between shifts nothing.
    """

    def __init__(self, database: Database, clock: Clock, page_size: int = _PAGE) -> None:
        self._database = database
        self._clock = clock
        self._page_size = page_size

    def put(self, tenant: str, keys: Sequence[str], entry: PatternEntry) -> None:
        rows = [(tenant, key, entry.job_id, entry.name, entry.pattern, entry.put_at) for key in keys]
        with self._database.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO patterns VALUES (?, ?, ?, ?, ?, ?)", rows)

    def remove(self, tenant: str, keys: Sequence[str], job_id: str, name: str) -> None:
        statement = "DELETE FROM patterns WHERE tenant = ? AND key = ? AND job_id = ? AND name = ?"
        with self._database.transaction() as connection:
            connection.executemany(statement, [(tenant, key, job_id, name) for key in keys])

    def matching(self, tenant: str, keys: Sequence[str]) -> Iterator[PatternEntry]:
        for key in keys:
            yield from self._entries(tenant, key)

    def first_time(self, tenant: str, event_id: str, time: int, expires_at: int) -> int:
        query = "SELECT time FROM events WHERE tenant = ? AND event_id = ?"
        with self._database.transaction() as connection:
            connection.execute(_FORGET, (self._clock.now() // 1000, _PURGED_AT_ONCE))
            imported = (tenant, HASHED + event_digest(event_id), self._clock.now() // 1000)
            if (row := connection.execute(_IMPORTED, imported).fetchone()) is not None:
                return int(row["time"])
            # _FORGET deletes a limited number of rows, so an expired row of this event may still be there.
            connection.execute(_REMEMBER, (tenant, event_id, time, expires_at, self._clock.now() // 1000))
            return int(connection.execute(query, (tenant, event_id)).fetchone()["time"])

    def _entries(self, tenant: str, key: str) -> Iterator[PatternEntry]:
        query = (
            "SELECT job_id, name, pattern, put_at FROM patterns WHERE tenant = ? AND key = ?"
            " AND (job_id, name) > (?, ?) ORDER BY job_id, name LIMIT ?"
        )
        after = ("", "")
        while True:
            with self._database.reading() as connection:
                rows = connection.execute(query, (tenant, key, *after, self._page_size)).fetchall()
            yield from (PatternEntry(*row) for row in rows)
            if len(rows) < self._page_size:
                return
            after = (rows[-1]["job_id"], rows[-1]["name"])
