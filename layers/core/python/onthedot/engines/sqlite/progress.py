"""The progress of the claim and sweep passes in SQLite."""

import sqlite3
from collections.abc import Mapping

from onthedot.domain.runs.pass_progress import ShardProgress
from onthedot.engines.progress_text import progress_from, progress_text, text_before
from onthedot.engines.sqlite.database import Database
from onthedot.ports import TickLease

_TAKE = (
    "INSERT INTO shard_progress (shard, tick_id, busy_until) VALUES (?1, ?2, ?3) ON CONFLICT (shard) DO UPDATE"
    " SET tick_id = ?2, busy_until = ?3 WHERE coalesce(busy_until, 0) <= ?4 OR tick_id = ?2"
)
_REPLACE = (
    "INSERT INTO shard_progress (shard, done) VALUES (?1, ?2) ON CONFLICT (shard) DO UPDATE"
    " SET done = ?2 WHERE done IS ?3"
)


class SqliteProgressStore:
    """A `ProgressStore` with one row for each shard."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, lease: TickLease, now: int) -> Mapping[int, ShardProgress] | None:
        with self._database.transaction() as connection:
            taken = connection.execute(_TAKE, (lease.shards[0], lease.tick_id, lease.until, now)).rowcount
            return _read(connection, lease.shards) if taken else None

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
    return {row["shard"]: progress_from(row["done"]) for row in connection.execute(query, shards)}
