"""The progress of the claim and sweep passes in SQLite."""

import sqlite3
from collections.abc import Mapping, Sequence

from onthedot.domain.runs.pass_progress import LONGEST_TICK_MS, ShardProgress, last_tick
from onthedot.engines.progress_text import progress_from, progress_text, text_before
from onthedot.engines.sqlite.database import Database
from onthedot.ports import TickLease

_TAKE = (
    "INSERT INTO shard_progress (shard, tick_id, busy_until) VALUES (?1, ?2, ?3) ON CONFLICT (shard) DO UPDATE"
    " SET tick_id = ?2, busy_until = ?3 WHERE coalesce(busy_until, 0) <= ?4 OR busy_until > ?5 OR tick_id = ?2"
)
_REPLACE = (
    "INSERT INTO shard_progress (shard, done) VALUES (?1, ?2) ON CONFLICT (shard) DO UPDATE"
    " SET done = ?2 WHERE done IS ?3"
)


class SqliteProgressStore:
    """A `ProgressStore` and `TickTimes` with one row for each shard."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, lease: TickLease, now: int) -> Mapping[int, ShardProgress] | None:
        with self._database.transaction() as connection:
            values = (lease.shards[0], lease.tick_id, lease.until, now, now + LONGEST_TICK_MS)
            taken = connection.execute(_TAKE, values).rowcount
            return _read(connection, lease.shards) if taken else None

    def forget_ticks(self) -> None:
        """End the ticks of a process that is gone. The caller owns the file, so there is no other process."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE shard_progress SET tick_id = NULL, busy_until = NULL WHERE tick_id IS NOT NULL")

    def last_ticks(self, shards: Sequence[int]) -> Mapping[int, int]:
        with self._database.reading() as connection:
            rows = connection.execute("SELECT shard, done FROM shard_progress WHERE done IS NOT NULL").fetchall()
        read = {row["shard"]: progress_from(row["shard"], row["done"]) for row in rows if row["shard"] in shards}
        return {shard: last_tick(progress) for shard, progress in read.items() if progress is not None}

    def finish(
        self, lease: TickLease, before: Mapping[int, ShardProgress], after: Mapping[int, ShardProgress]
    ) -> frozenset[int]:
        with self._database.transaction() as connection:
            release = "UPDATE shard_progress SET tick_id = NULL, busy_until = NULL WHERE shard = ? AND tick_id = ?"
            owned = connection.execute(release, (lease.shards[0], lease.tick_id)).rowcount
            changes = {shard: progress for shard, progress in after.items() if owned or shard != lease.shards[0]}
            kept = {
                shard
                for shard, progress in changes.items()
                if connection.execute(
                    _REPLACE, (shard, progress_text(progress), text_before(before.get(shard)))
                ).rowcount
            }
        return frozenset(after) - kept


def _read(connection: sqlite3.Connection, shards: tuple[int, ...]) -> dict[int, ShardProgress]:
    marks = ", ".join("?" * len(shards))
    query = f"SELECT shard, done FROM shard_progress WHERE done IS NOT NULL AND shard IN ({marks})"  # noqa: S608
    read = {row["shard"]: progress_from(row["shard"], row["done"]) for row in connection.execute(query, shards)}
    damaged = [(shard,) for shard, progress in read.items() if progress is None]
    connection.executemany("UPDATE shard_progress SET done = NULL WHERE shard = ?", damaged)
    return {shard: progress for shard, progress in read.items() if progress is not None}
