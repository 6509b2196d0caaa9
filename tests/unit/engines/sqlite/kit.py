"""A file with a writer that a test can hold up, so that operations gather behind it."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from onthedot.engines.sqlite import group_commit
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.group_commit import GroupCommit

LONGEST_SECONDS = "_LONGEST_SECONDS"
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
            over.wait(60)

        # The group of this operation takes no other. The next group takes all, also on a busy machine.
        setattr(group_commit, LONGEST_SECONDS, 0.0)
        first = self.submit(wait)
        assert begun.wait(30)
        setattr(group_commit, LONGEST_SECONDS, 3600.0)
        try:
            yield
        finally:
            over.set()
            first.result(30)

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
    usual = getattr(group_commit, LONGEST_SECONDS)
    with Database(path, connect) as database, mock.patch.object(group_commit, LONGEST_SECONDS, usual):
        writer = GroupCommit(database)
        try:
            yield Desk(database, writer, path)
        finally:
            writer.close()
