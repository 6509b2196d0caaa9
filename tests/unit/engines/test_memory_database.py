"""The database of simulations: transactions are atomic, and a part that fails is undone alone."""

import sqlite3
from collections.abc import Iterator

import pytest

from onthedot.engines.sqlite.memory import MemoryDatabase


@pytest.fixture
def database() -> Iterator[MemoryDatabase]:
    with MemoryDatabase() as opened:
        yield opened


def put(connection: sqlite3.Connection, tenant: str) -> None:
    connection.execute("INSERT INTO blobs VALUES (?, '[]')", (tenant,))


def put_all(database: MemoryDatabase, *names: str) -> None:
    """Put them in one transaction, each after the first in a part of its own."""
    with database.transaction() as connection:
        put(connection, names[0])
        for name in names[1:]:
            with database.transaction() as part:
                put(part, name)


def tenants(database: MemoryDatabase) -> list[str]:
    with database.reading() as connection:
        return [row["key"] for row in connection.execute("SELECT key FROM blobs ORDER BY key")]


def test_a_transaction_is_committed_or_undone_as_a_whole(database: MemoryDatabase) -> None:
    with database.transaction() as connection:
        put(connection, "a")
        put(connection, "b")
    with pytest.raises(sqlite3.IntegrityError):
        put_all(database, "c", "a")
    assert tenants(database) == ["a", "b"]


def test_a_part_that_fails_is_undone_alone(database: MemoryDatabase) -> None:
    with database.transaction() as connection:
        put(connection, "a")
        with pytest.raises(sqlite3.IntegrityError):
            put_all(database, "b", "c", "a")
        put_all(database, "d")
    assert tenants(database) == ["a", "d"]


def test_a_statement_and_an_action_after_it_happen_at_once(database: MemoryDatabase) -> None:
    done: list[str] = []
    with database.statement() as connection:
        put(connection, "a")
    database.after_commit(lambda: done.append("sent"))
    assert (tenants(database), done) == (["a"], ["sent"])
