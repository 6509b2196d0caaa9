"""Connections that only read a file, one for each thread. They see commits at once and wait for no writer."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_BUSY_SECONDS: Final = 10.0


class Readers:
    """The reading connections of a file. Each read sees one snapshot. A reader never moves the log into the file."""

    def __init__(self, path: Path) -> None:
        self._uri = f"{path.absolute().as_uri()}?mode=ro"
        self._lock = threading.Lock()
        self._of_thread = threading.local()
        self._all: list[sqlite3.Connection] = []

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Read by this thread's connection. All statements in the block see the same snapshot."""
        connection: sqlite3.Connection = getattr(self._of_thread, "connection", None) or self._open()
        connection.execute("BEGIN")
        try:
            yield connection
        finally:
            if connection.in_transaction:
                connection.execute("COMMIT")

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            opened, self._all = self._all, []
        for connection in opened:
            connection.close()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.row_factory = sqlite3.Row
        with self._lock:
            self._all.append(connection)
        self._of_thread.connection = connection
        return connection
