"""A file with a writer that a test can hold up, so that operations gather behind it."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.group_commit import GroupCommit

INSERT = "INSERT INTO blobs VALUES (?, '')"


class WatchedConnection(sqlite3.Connection):
    """A connection that counts transactions, and fails one statement on request."""

    begun = 0
    commits = 0
    on_commit: Callable[[], object] | None = None
    """Called once, after the next commit."""
    failing: str | None = None

    def execute(self, statement: str, values: Any = ()) -> sqlite3.Cursor:
        if statement == self.failing:
            self.failing = None
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR
            raise error
        self.commits += statement == "COMMIT"
        self.begun += statement == "BEGIN IMMEDIATE"
        cursor = super().execute(statement, values)
        if statement == "COMMIT" and self.on_commit is not None:
            action, self.on_commit = self.on_commit, None
            action()
        return cursor


def connect(path: str | Path) -> WatchedConnection:
    return sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=WatchedConnection, timeout=0.05)


@dataclass
class Desk:
    """A database, its writer, and the keys that are stored."""

    database: Database
    writer: GroupCommit
    path: Path
    reports: list[str] = field(default_factory=list)

    @property
    def connection(self) -> WatchedConnection:
        found = self.database._connection
        assert isinstance(found, WatchedConnection)
        return found

    def put(self, key: str) -> Callable[[], str]:
        """Return an operation that stores a key."""

        def do() -> str:
            with self.database.transaction() as connection:
                connection.execute(INSERT, (key,))
            return key

        return do

    def submit(self, do: Callable[[], Any]) -> "Future[Any]":
        future: Future[Any] = Future()

        def done(result: Any, error: BaseException | None) -> None:
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self.writer.submit(do, done)
        return future

    @contextmanager
    def held_up(self) -> Iterator[None]:
        """Keep the writer busy with an operation of its own. Operations of the block gather behind it."""
        begun, over = threading.Event(), threading.Event()

        def wait() -> None:
            begun.set()
            over.wait(10)

        first = self.submit(wait)
        begun.wait(10)
        # The group of the operation is over: it lasts for longer than a group takes more operations.
        threading.Event().wait(0.03)
        try:
            yield
        finally:
            over.set()
            first.result(10)

    def stored(self) -> list[str]:
        """Return the keys in the file, as another process sees them."""
        connection = sqlite3.connect(self.path)
        try:
            return [row[0] for row in connection.execute("SELECT key FROM blobs ORDER BY key")]
        finally:
            connection.close()


@contextmanager
def a_desk(folder: Path) -> Iterator[Desk]:
    path = folder / "jobs.db"
    with Database(path, connect) as database:
        writer = GroupCommit(database)
        try:
            yield Desk(database, writer, path)
        finally:
            writer.close()
