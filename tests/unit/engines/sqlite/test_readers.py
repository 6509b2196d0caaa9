"""Connections that only read: they see commits at once, wait for no writer, and change nothing."""

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from onthedot.engines.sqlite.database import Database
from tests.unit.engines.sqlite.kit import INSERT


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "jobs.db") as made:
        yield made


def put(database: Database, key: str) -> None:
    with database.transaction() as connection:
        connection.execute(INSERT, (key,))


def keys(database: Database) -> list[str]:
    with database.reading() as connection:
        return [row["key"] for row in connection.execute("SELECT key FROM blobs ORDER BY key")]


def test_a_reader_sees_a_commit_at_once(database: Database) -> None:
    assert keys(database) == []
    for number in range(20):
        with ThreadPoolExecutor(1) as other:
            other.submit(put, database, f"k{number:02}").result()
        assert len(keys(database)) == number + 1


def test_a_reader_neither_waits_for_an_open_transaction_nor_sees_it(database: Database) -> None:
    put(database, "a")
    with ThreadPoolExecutor(1) as other, database.transaction() as connection:
        connection.execute(INSERT, ("b",))
        assert other.submit(keys, database).result(30) == ["a"]
    assert keys(database) == ["a", "b"]


def test_the_thread_of_a_transaction_reads_its_own_writes(database: Database) -> None:
    with database.transaction() as connection:
        connection.execute(INSERT, ("a",))
        assert keys(database) == ["a"]


def test_all_statements_of_a_block_see_one_snapshot(database: Database) -> None:
    count = "SELECT count(*) FROM blobs"
    with database.reading() as connection, ThreadPoolExecutor(1) as other:
        assert connection.execute(count).fetchone()[0] == 0
        other.submit(put, database, "a").result()
        assert connection.execute(count).fetchone()[0] == 0
    assert keys(database) == ["a"]


def test_a_reader_writes_nothing(database: Database) -> None:
    from onthedot.core.errors import Unavailable

    with pytest.raises(Unavailable, match="readonly"), database.reading() as connection:
        connection.execute(INSERT, ("a",))
    assert keys(database) == []


def test_an_error_in_a_block_leaves_the_reader_usable(database: Database) -> None:
    with pytest.raises(sqlite3.OperationalError), database.reading() as connection:
        connection.execute("SELECT * FROM nothing")
    assert keys(database) == []


def test_readers_side_by_side_while_a_writer_writes(database: Database) -> None:
    """Each reader sees numbers that only grow."""
    over = threading.Event()

    def look() -> list[int]:
        seen = []
        while not over.is_set():
            seen.append(len(keys(database)))
        return seen

    with ThreadPoolExecutor(4) as readers:
        looks = [readers.submit(look) for _ in range(4)]
        for number in range(100):
            put(database, f"k{number}")
        over.set()
        for each in looks:
            seen = each.result(30)
            assert seen == sorted(seen)
    assert len(keys(database)) == 100


def test_threads_that_come_and_go_open_no_more_connections_than_read_side_by_side(database: Database) -> None:
    put(database, "a")
    for _ in range(30):
        with ThreadPoolExecutor(2) as passing:
            assert list(passing.map(lambda _: keys(database), range(4))) == [["a"]] * 4
    assert database._readers is not None
    assert len(database._readers._all) <= 2
