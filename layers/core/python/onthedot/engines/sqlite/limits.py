"""The limits of tenants in SQLite."""

import logging
from collections.abc import Mapping
from typing import Final

from onthedot import registry_codec
from onthedot.domain.runs.fairness import Limits, TenantLimits
from onthedot.engines.sqlite.database import Database

_LOG: Final = logging.getLogger(__name__)
# No tenant has a name that begins like this: the names come from tokens.
_THROTTLED_PREFIX: Final = "throttled#"


class SqliteLimitsStore:
    """A `LimitsStore` with one row for each limited tenant, and one for each shard group that throttles."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self) -> Limits:
        with self._database.transaction() as connection:
            rows = connection.execute("SELECT name, content FROM limits").fetchall()
        tenants: dict[str, TenantLimits] = {}
        throttled: dict[str, str] = {}
        for name, content in rows:
            try:
                if name.startswith(_THROTTLED_PREFIX):
                    throttled |= registry_codec.throttled_of(content)
                else:
                    tenants[name] = registry_codec.limits_of(content)
            except registry_codec.DAMAGED as error:
                # One damaged row must not stop the runs of all tenants.
                _LOG.error("limits_unreadable", extra={"item": name, "why": repr(error)})
        return Limits(tenants, throttled)

    def put(self, tenant: str, limits: TenantLimits | None) -> None:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM limits WHERE name = ?", (tenant,))
            if limits is not None:
                row = (tenant, registry_codec.limits_text(limits))
                connection.execute("INSERT INTO limits VALUES (?, ?)", row)

    def mark_throttled(self, group: int, throttled: Mapping[str, str]) -> None:
        row = (f"{_THROTTLED_PREFIX}{group}", registry_codec.throttled_text(throttled))
        with self._database.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO limits VALUES (?, ?)", row)
