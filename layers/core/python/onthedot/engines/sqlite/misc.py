"""Progress, tokens and blobs in SQLite."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from onthedot.domain.runs.fairness import Limits, TenantLimits
from onthedot.domain.runs.pass_progress import PassProgress
from onthedot.domain.runs.slots import SlotKind, bucket_of
from onthedot.engines.sqlite.database import Database
from onthedot.ports import Principal

_HELD: Final = "held#"  # no tenant's name begins so: tenants come from tokens


class SqliteProgressStore:
    """A `ProgressStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read_progress(self, group: int) -> PassProgress:
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


class SqliteLimitsStore:
    """A `LimitsStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self) -> Limits:
        with self._database.transaction() as connection:
            rows = connection.execute("SELECT name, content FROM limits").fetchall()
        tenants = {name: TenantLimits(**json.loads(text)) for name, text in rows if not name.startswith(_HELD)}
        held = [json.loads(text) for name, text in rows if name.startswith(_HELD)]
        return Limits(tenants, {who: why for group in held for who, why in group.items()})

    def put(self, tenant: str, limits: TenantLimits | None) -> None:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM limits WHERE name = ?", (tenant,))
            if limits is not None:
                connection.execute("INSERT INTO limits VALUES (?, ?)", (tenant, json.dumps(asdict(limits))))

    def mark_throttled(self, group: int, held: Mapping[str, str]) -> None:
        row = (f"{_HELD}{group}", json.dumps(dict(held)))
        with self._database.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO limits VALUES (?, ?)", row)


class SqliteTokenStore:
    """A `TokenStore`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, token_hash: str) -> Principal | None:
        query = "SELECT tenant, role, name FROM tokens WHERE token_hash = ?"
        with self._database.transaction() as connection:
            row = connection.execute(query, (token_hash,)).fetchone()
        return None if row is None else Principal(*row)

    def add(self, token_hash: str, principal: Principal, created_at: int) -> None:
        row = (token_hash, principal.tenant, principal.role, principal.name, created_at)
        with self._database.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?, ?)", row)


class SqliteBlobs:
    """A `Blobs`."""

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
