"""A database in memory for one thread at a time, for simulations: it waits for no disk and for no other thread."""

import sqlite3
from contextlib import AbstractContextManager
from dataclasses import dataclass

from onthedot.engines.sqlite.database import Database


class MemoryDatabase(Database):
    """A `Database` in memory. Its threads take turns, so it needs no lock.

    A single statement is atomic by itself, and reads see all writes. A transaction inside another one is a part of it
    that is undone alone, as in every database here.
    """

    def __init__(self) -> None:
        super().__init__()
        self._open = _Open(self._connection)
        self._atomic = _Atomic(self._connection)

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:  # type: ignore[override]
        return self._atomic if hasattr(self, "_atomic") else super().transaction()

    def statement(self) -> AbstractContextManager[sqlite3.Connection]:  # type: ignore[override]
        return self._open

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:  # type: ignore[override]
        return self._open


@dataclass(slots=True)
class _Open:
    connection: sqlite3.Connection

    def __enter__(self) -> sqlite3.Connection:
        return self.connection

    def __exit__(self, *_: object) -> None:
        return None


@dataclass(slots=True)
class _Atomic:
    connection: sqlite3.Connection
    depth: int = 0

    def __enter__(self) -> sqlite3.Connection:
        self.connection.execute("BEGIN" if self.depth == 0 else "SAVEPOINT part")
        self.depth += 1
        return self.connection

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.connection.execute("COMMIT" if kind is None else "ROLLBACK")
            return
        if kind is not None:
            self.connection.execute("ROLLBACK TO part")
        self.connection.execute("RELEASE part")
