"""The limits of tenants in SQLite."""

import logging
from typing import Final

from onthedot import registry_codec
from onthedot.domain.gates.limits import Limits, TenantLimits
from onthedot.engines.gate_limits import tenant_limits_or_stop
from onthedot.engines.sqlite.database import Database

_LOG: Final = logging.getLogger(__name__)
# Earlier versions stored marks of throttled tenants beside the limits.
_MARKS: Final = "throttled#"


class SqliteLimitsStore:
    """A `LimitsStore` with one row for each limited tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self) -> Limits:
        with self._database.reading() as connection:
            rows = connection.execute("SELECT name, content FROM limits").fetchall()
        tenants: dict[str, TenantLimits] = {}
        for tenant, content in rows:
            if tenant.startswith(_MARKS):
                continue
            try:
                tenants[tenant] = registry_codec.limits_of(content)
            except registry_codec.DAMAGED as error:
                # One damaged row must not stop the runs of all tenants.
                _LOG.error("limits_unreadable", extra={"item": tenant, "why": repr(error)})
        return Limits(tenants)

    def find(self, tenant: str) -> TenantLimits | None:
        with self._database.reading() as connection:
            row = connection.execute("SELECT content FROM limits WHERE name = ?", (tenant,)).fetchone()
        return None if row is None else tenant_limits_or_stop(tenant, row["content"])

    def put(self, tenant: str, limits: TenantLimits | None) -> None:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM limits WHERE name = ?", (tenant,))
            if limits is not None:
                row = (tenant, registry_codec.limits_text(limits))
                connection.execute("INSERT INTO limits VALUES (?, ?)", row)
