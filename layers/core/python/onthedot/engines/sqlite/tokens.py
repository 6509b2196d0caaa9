"""API tokens in SQLite."""

from typing import Any, Final

from onthedot.engines.sqlite.database import Database
from onthedot.ports import Clock, Page, Principal, Token

_COLUMNS: Final = "id, tenant, role, name, created_at, expires_at"
_VALID: Final = "(expires_at IS NULL OR expires_at > :now)"


class SqliteTokenStore:
    """A `TokenStore` with one row for each token."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def find(self, token_hash: str) -> Token | None:
        query = f"SELECT {_COLUMNS} FROM api_tokens WHERE token_hash = :hash AND {_VALID}"  # noqa: S608 - column names
        with self._database.reading() as connection:
            row = connection.execute(query, {"hash": token_hash, "now": self._clock.now()}).fetchone()
        return None if row is None else _to_token(row)

    def add(self, token_hash: str, token: Token) -> None:
        who = token.principal
        row = (token_hash, token.id, who.tenant, who.role, who.name, token.created_at, token.expires_at)
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM api_tokens WHERE expires_at <= ?", (self._clock.now(),))
            connection.execute("INSERT OR REPLACE INTO api_tokens VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def page(self, limit: int, cursor: str | None = None, tenant: str | None = None) -> Page[Token]:
        query = (
            f"SELECT {_COLUMNS} FROM api_tokens WHERE id > :cursor AND {_VALID}"  # noqa: S608 - column names
            " AND (:tenant IS NULL OR tenant = :tenant) ORDER BY id LIMIT :limit"
        )
        # One token more than the page shows whether there is another page.
        wanted = {"cursor": cursor or "", "now": self._clock.now(), "tenant": tenant, "limit": limit + 1}
        with self._database.reading() as connection:
            rows = connection.execute(query, wanted).fetchall()
        tokens = [_to_token(row) for row in rows[:limit]]
        return Page(tokens, tokens[-1].id if len(rows) > limit else None)

    def remove(self, token_id: str) -> bool:
        with self._database.transaction() as connection:
            return connection.execute("DELETE FROM api_tokens WHERE id = ?", (token_id,)).rowcount > 0


def _to_token(row: Any) -> Token:
    principal = Principal(row["tenant"], row["role"], row["name"])
    return Token(row["id"], principal, row["created_at"], row["expires_at"])
