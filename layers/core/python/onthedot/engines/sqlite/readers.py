"""Connections that only read a file. They see commits at once and wait for no writer."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_BUSY_SECONDS: Final = 10.0


class Readers:
    """The reading connections of a file. Each read sees one snapshot. A reader never moves the log into the file.

    A connection that is free is used again by any thread, so there are as many as there were reads side by side.
    """

    def __init__(self, path: Path) -> None:
        self._uri = f"{path.absolute().as_uri()}?mode=ro"
        self._lock = threading.Lock()
        self._free: list[sqlite3.Connection] = []
        self._all: list[sqlite3.Connection] = []

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Read by a connection of this block alone. All statements in the block see the same snapshot."""
        connection = self._take()
        try:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                if connection.in_transaction:
                    connection.execute("COMMIT")
        finally:
            self._free.append(connection)

    def close(self) -> None:
        with self._lock:
            opened, self._all = self._all, []
            self._free.clear()
        for connection in opened:
            connection.close()

    def _take(self) -> sqlite3.Connection:
        try:
            return self._free.pop()
        except IndexError:
            return self._open()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.row_factory = sqlite3.Row
        with self._lock:
            self._all.append(connection)
        return connection
