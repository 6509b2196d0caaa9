"""The one SQLite file, or memory, in which the embedded engine stores everything."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from onthedot.core.errors import FileFailing, Unavailable
from onthedot.engines.sqlite.readers import Readers
from onthedot.engines.sqlite.tables import FORMAT, NewerFile, prepare

__all__ = ["FORMAT", "MEMORY", "Database", "NewerFile"]

MEMORY: Final = ":memory:"
_BUSY_SECONDS: Final = 10.0
_STATEMENTS: Final = 512
"""Prepared statements that are kept: each shape of a move is one."""
_TRANSIENT: Final = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
    }
)
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

Connect = Callable[[str | Path], sqlite3.Connection]
"""Opens the connection that writes. Tests give another one, to record what reaches the disk."""


class Database:
    """One connection for writes behind one lock, and connections that only read, which wait for no write.

    Transactions of all threads run one after another, each atomic. A transaction inside a transaction of the same
    thread is a part of it: all parts share one commit, and a part that fails is undone alone. The database uses a
    write-ahead log and syncs on every commit, so commits survive kill -9 and power loss.
    """

    def __init__(self, path: str | Path = MEMORY, connect: Connect | None = None) -> None:
        self.path = None if str(path) == MEMORY else Path(path)
        if self.path is not None:
            # The file has payloads and token hashes. SQLite gives its side files the same mode.
            self.path.touch(mode=0o600)
        self._lock = threading.RLock()
        self._owner: int | None = None
        """The thread whose transaction is open."""
        self.on_undo: Callable[[], None] = lambda: None
        """Called when writes were undone, the whole transaction or a part of it."""
        self._actions: list[Callable[[], None]] = []
        self._lost: Exception | None = None
        """The error by which SQLite undid the whole open transaction."""
        with _translated():
            self._connection = (connect or _connect)(path)
        self._readers = Readers(self.path) if self.path is not None else None
        try:
            self._set_up(path)
        except BaseException:
            self.close()
            raise

    def _set_up(self, path: str | Path) -> None:
        self._connection.row_factory = sqlite3.Row
        with _translated():
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
        with self.transaction() as connection:
            prepare(connection, path)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit at the end, or roll back on any error. Raise Unavailable when the file is busy, full or failing."""
        with self._lock:
            if self._owner is not None:
                with self._part():
                    yield self._connection
                return
            with self._whole():
                yield self._connection
            actions, self._actions = self._actions, []
        for action in actions:
            action()

    @contextmanager
    def statement(self) -> Iterator[sqlite3.Connection]:
        """Begin a transaction for one statement that writes. Inside a transaction it needs no part of its own."""
        if self._owner != threading.get_ident():
            with self.transaction() as connection:
                yield connection
            return
        self._raise_if_lost()
        with _translated():
            try:
                yield self._connection
            except BaseException as error:
                self._note_lost(error)
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Read the committed data or, inside a transaction of this thread, also its own writes."""
        if self._readers is None or self._owner == threading.get_ident():
            with self._lock, _translated():
                yield self._connection
        else:
            with _translated(), self._readers.connection() as connection:
                yield connection

    @property
    def is_mine(self) -> bool:
        """Whether the calling thread has a transaction open."""
        return self._owner == threading.get_ident()

    def after_commit(self, action: Callable[[], None]) -> None:
        """Do this when the open transaction of this thread is on disk. It must not raise. Without one, do it now."""
        if self._owner == threading.get_ident():
            self._actions.append(action)
        else:
            action()

    def close(self) -> None:
        """Close all connections. The connection that writes is the last one, because it moves the log into the file."""
        with self._lock:
            if self._readers is not None:
                self._readers.close()
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _whole(self) -> Iterator[None]:
        self._lost = None
        with _translated():
            self._connection.execute("BEGIN IMMEDIATE")
            self._owner = threading.get_ident()
            try:
                yield
                self._raise_if_lost()
                self._connection.execute("COMMIT")
            except BaseException:
                self._actions = []
                self.on_undo()
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            finally:
                self._owner = None

    @contextmanager
    def _part(self) -> Iterator[None]:
        self._raise_if_lost()
        done = len(self._actions)
        with _translated():
            self._connection.execute("SAVEPOINT part")
            try:
                yield
                self._connection.execute("RELEASE part")
            except BaseException as error:
                del self._actions[done:]
                self.on_undo()
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK TO part")
                    self._connection.execute("RELEASE part")
                self._note_lost(error)
                raise

    def _note_lost(self, error: BaseException) -> None:
        if not self._connection.in_transaction:
            self._lost = error if isinstance(error, Exception) else Unavailable(repr(error))

    def _raise_if_lost(self) -> None:
        """Raise Unavailable when SQLite has undone the open transaction, as it does when the disk is full."""
        if self._lost is not None:
            raise FileFailing(f"database: {self._lost}") from self._lost


def _connect(path: str | Path) -> sqlite3.Connection:
    return sqlite3.connect(
        path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=_STATEMENTS
    )


@contextmanager
def _translated() -> Iterator[None]:
    """Raise Unavailable for an error of the file. Errors of our own statements stay as they are."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        if code in _TRANSIENT:
            raise FileFailing(f"database: {error}") from error
        if code in _DAMAGED:
            raise FileFailing(f"database: {error}; the file is damaged: stop, and start on a backup") from error
        raise
