"""The limits of tenants in SQLite."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from onthedot.domain.runs.fairness import Limits, TenantLimits
from onthedot.engines.sqlite.database import Database

# No tenant has a name that begins like this: the names come from tokens.
_THROTTLED_PREFIX: Final = "throttled#"


class SqliteLimitsStore:
    """A `LimitsStore` with one row for each limited tenant, and one for each shard group that throttles."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self) -> Limits:
        with self._database.transaction() as connection:
            rows = connection.execute("SELECT name, content FROM limits").fetchall()
        limits = {name: json.loads(text) for name, text in rows}
        throttled = [content for name, content in limits.items() if name.startswith(_THROTTLED_PREFIX)]
        return Limits(
            {name: TenantLimits(**c) for name, c in limits.items() if not name.startswith(_THROTTLED_PREFIX)},
            {name: why for group in throttled for name, why in group.items()},
        )

    def put(self, tenant: str, limits: TenantLimits | None) -> None:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM limits WHERE name = ?", (tenant,))
            if limits is not None:
                connection.execute("INSERT INTO limits VALUES (?, ?)", (tenant, json.dumps(asdict(limits))))

    def mark_throttled(self, group: int, throttled: Mapping[str, str]) -> None:
        row = (f"{_THROTTLED_PREFIX}{group}", json.dumps(dict(throttled)))
        with self._database.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO limits VALUES (?, ?)", row)
