"""The progress of the claim and sweep passes in SQLite."""

from collections import defaultdict

from onthedot.domain.runs.pass_progress import PassProgress
from onthedot.domain.runs.slots import SlotKind, bucket_of
from onthedot.engines.sqlite.database import Database


class SqliteProgressStore:
    """A `ProgressStore` with one row for each shard and kind of slot."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read_progress(self, group: int) -> PassProgress:
        """Return the stored progress. A group that has none begins at the minute in which the database was created."""
        done: defaultdict[SlotKind, dict[int, int]] = defaultdict(dict)
        with self._database.transaction() as connection:
            query = "SELECT kind, shard, bucket FROM progress WHERE shard_group = ?"
            for kind, shard, bucket in connection.execute(query, (group,)):
                done[SlotKind(kind)][shard] = bucket
        return PassProgress(dict(done), None if done else bucket_of(self._database.born_at()))

    def write_progress(self, group: int, progress: PassProgress) -> None:
        rows = [
            (group, kind.value, shard, bucket)
            for kind, shards in progress.done.items()
            for shard, bucket in shards.items()
        ]
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM progress WHERE shard_group = ?", (group,))
            connection.executemany("INSERT INTO progress VALUES (?, ?, ?, ?)", rows)
