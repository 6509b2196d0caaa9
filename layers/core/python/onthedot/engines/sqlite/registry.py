"""Pull workers, and the keys that sign the calls of tenants, in SQLite."""

import logging
import sqlite3
from collections.abc import Sequence
from typing import Final

from onthedot import registry_codec
from onthedot.domain.targets.webhooks import SigningKey
from onthedot.domain.workers.records import MOST_ASSIGNED, Load, WorkerRecord, expiry_of
from onthedot.engines.sqlite.database import Database
from onthedot.ports import Clock

_LOG: Final = logging.getLogger(__name__)
_COLUMNS: Final = "worker_id, about, heartbeat_at, load"


class SqliteWorkerRegistry:
    """A `WorkerRegistry` with one row for each worker, and one for each assigned run."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def register(self, worker: WorkerRecord) -> None:
        load = registry_codec.load_text(worker.load)
        row = (worker.worker_id, registry_codec.about(worker), worker.heartbeat_at, load, worker.expires_at)
        with self._database.transaction() as connection:
            _forget(connection, self._clock.now())
            connection.execute("INSERT OR REPLACE INTO workers VALUES (?, ?, ?, ?, ?)", row)
            connection.execute("DELETE FROM assigned WHERE worker_id = ?", (worker.worker_id,))
            _assign(connection, worker.worker_id, sorted(worker.assigned))

    def find(self, worker_id: str) -> WorkerRecord | None:
        with self._database.reading() as connection:
            return _find(connection, worker_id, self._clock.now())

    def beat(self, worker_id: str, now: int, load: Load) -> WorkerRecord | None:
        statement = (
            "UPDATE workers SET heartbeat_at = ?, load = ?, expires_at = ? WHERE worker_id = ? AND expires_at > ?"
        )
        values = (now, registry_codec.load_text(load), expiry_of(now), worker_id, now // 1000)
        with self._database.transaction() as connection:
            known = connection.execute(statement, values).rowcount > 0
            return _find(connection, worker_id, now) if known else None

    def assign(self, worker_id: str, run_id: str) -> bool:
        with self._database.transaction() as connection:
            worker = _find(connection, worker_id, self._clock.now())
            if worker is None or (len(worker.assigned) >= MOST_ASSIGNED and run_id not in worker.assigned):
                return False
            _assign(connection, worker_id, [run_id])
        return True

    def unassign(self, worker_id: str, run_ids: Sequence[str]) -> None:
        pairs = [(worker_id, run_id) for run_id in run_ids]
        with self._database.transaction() as connection:
            connection.executemany("DELETE FROM assigned WHERE worker_id = ? AND run_id = ?", pairs)

    def workers(self) -> Sequence[WorkerRecord]:
        query = f"SELECT {_COLUMNS} FROM workers WHERE expires_at > ? ORDER BY worker_id"  # noqa: S608 - column names
        with self._database.reading() as connection:
            rows = connection.execute(query, (self._clock.now() // 1000,)).fetchall()
            return [worker for row in rows if (worker := _worker(connection, row)) is not None]


class SqliteSigningStore:
    """A `SigningStore` with one row for each tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def keys(self, tenant: str) -> Sequence[SigningKey]:
        with self._database.reading() as connection:
            return _keys(connection, tenant)

    def replace(self, tenant: str, seen: Sequence[SigningKey], keys: Sequence[SigningKey]) -> bool:
        with self._database.transaction() as connection:
            if _keys(connection, tenant) not in (tuple(seen), tuple(keys)):
                return False
            row = (tenant, registry_codec.keys_text(keys))
            connection.execute("INSERT OR REPLACE INTO signing VALUES (?, ?)", row)
            return True


def _find(connection: sqlite3.Connection, worker_id: str, now: int) -> WorkerRecord | None:
    query = f"SELECT {_COLUMNS} FROM workers WHERE worker_id = ? AND expires_at > ?"  # noqa: S608 - column names
    row = connection.execute(query, (worker_id, now // 1000)).fetchone()
    return None if row is None else _worker(connection, row)


def _worker(connection: sqlite3.Connection, row: sqlite3.Row) -> WorkerRecord | None:
    """Return the worker. None: it cannot be read, and counts as unknown, so it registers again."""
    query = "SELECT run_id FROM assigned WHERE worker_id = ?"
    assigned = [run_id for (run_id,) in connection.execute(query, (row["worker_id"],))]
    try:
        return registry_codec.worker_of(row["worker_id"], row["about"], row["heartbeat_at"], row["load"], assigned)
    except registry_codec.DAMAGED as error:
        _LOG.error("worker_unreadable", extra={"worker": row["worker_id"], "why": repr(error)})
        return None


def _assign(connection: sqlite3.Connection, worker_id: str, run_ids: Sequence[str]) -> None:
    pairs = [(worker_id, run_id) for run_id in run_ids]
    connection.executemany("INSERT OR IGNORE INTO assigned VALUES (?, ?)", pairs)


def _forget(connection: sqlite3.Connection, now: int) -> None:
    """Delete expired workers. SQLite has no TTL, so each registration does it."""
    connection.execute("DELETE FROM workers WHERE expires_at <= ?", (now // 1000,))
    connection.execute("DELETE FROM assigned WHERE worker_id NOT IN (SELECT worker_id FROM workers)")


def _keys(connection: sqlite3.Connection, tenant: str) -> tuple[SigningKey, ...]:
    row = connection.execute("SELECT keys FROM signing WHERE tenant = ?", (tenant,)).fetchone()
    return () if row is None else registry_codec.keys_of(row["keys"])
