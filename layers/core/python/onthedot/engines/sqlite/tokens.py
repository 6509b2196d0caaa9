"""API tokens in SQLite."""

from onthedot.engines.sqlite.database import Database
from onthedot.ports import Principal


class SqliteTokenStore:
    """A `TokenStore` with one row for each token, under the hash of the token."""

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
