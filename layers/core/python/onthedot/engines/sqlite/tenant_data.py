"""The data of tenants in SQLite, for the operator who stops or deletes one."""

from typing import Final

from onthedot.domain.runs.records import TERMINAL
from onthedot.engines.sqlite.database import Database
from onthedot.ports import DeletedPage, Page
from onthedot.schema import BLOBS, blobs_of

_PAGE: Final = 500
_OWN: Final = "tenant = :tenant"
_TABLES: Final = {
    "runs": ("run_id", _OWN),
    "api_tokens": ("token_hash", _OWN),
    "gates": ("tenant, name", _OWN),
    "gate_states": ("gate, page", "substr(gate, 1, length(:gates)) = :gates"),
    # `json_extract` fails for a damaged text.
    "workers": ("worker_id", "CASE WHEN json_valid(about) THEN json_extract(about, '$.tenant') END = :tenant"),
    "assigned": ("worker_id, run_id", "worker_id NOT IN (SELECT worker_id FROM workers)"),
    "signing": ("tenant", _OWN),
    "patterns": ("tenant, key, job_id, name", _OWN),
    "events": ("tenant, event_id", _OWN),
    "statistics": ("tenant, minute, priority", _OWN),
    "messages": ("id", "message_group = :tenant"),
}
"""The columns of the primary key of each table, and the condition for the rows of the tenant."""


class SqliteTenantData:
    """A `TenantData`. A page has some rows of each table."""

    def __init__(self, database: Database, page_size: int = _PAGE) -> None:
        self._database = database
        self._page_size = page_size

    def jobs_page(self, tenant: str, cursor: str | None = None) -> Page[str]:
        ended = ", ".join(f"'{status}'" for status in sorted(TERMINAL))
        query = (
            f"SELECT run_id FROM runs WHERE tenant = ? AND run_id = job_id AND status NOT IN ({ended})"  # noqa: S608
            " AND run_id > ? ORDER BY run_id LIMIT ?"
        )
        with self._database.reading() as connection:
            found = connection.execute(query, (tenant, cursor or "", self._page_size)).fetchall()
        ids = [str(row["run_id"]) for row in found]
        return Page(ids, ids[-1] if len(ids) == self._page_size else None)

    def delete_page(self, tenant: str, cursor: str | None = None) -> DeletedPage:  # noqa: ARG002 - starts again
        values = {"tenant": tenant, "gates": f"{len(tenant)}:{tenant}#", "limit": self._page_size}
        with self._database.transaction() as connection:
            deleted = [
                connection.execute(
                    f"DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE {own} LIMIT :limit)",  # noqa: S608
                    values,
                ).rowcount
                for table, (key, own) in _TABLES.items()
            ]
        return DeletedPage(sum(deleted), "more" if max(deleted) == self._page_size else None)

    def delete_blobs(self, tenant: str) -> int:
        own = " OR ".join("substr(key, 1, length(?)) = ?" for _ in BLOBS)
        prefixes = [value for prefix in BLOBS for value in [blobs_of(tenant, prefix)] * 2]
        query = f"DELETE FROM blobs WHERE key IN (SELECT key FROM blobs WHERE {own} LIMIT ?)"  # noqa: S608 - no values
        with self._database.transaction() as connection:
            return connection.execute(query, (*prefixes, self._page_size)).rowcount
