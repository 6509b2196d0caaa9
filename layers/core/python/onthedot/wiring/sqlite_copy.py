"""A copy of the embedded engine's file, and an engine on it, for commands that run next to a server."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onthedot.core.clock import SystemClock
from onthedot.core.slots import Deployment
from onthedot.engine import Engine
from onthedot.engines.sqlite.backup import copy_database
from onthedot.engines.sqlite.database import Database
from onthedot.wiring.embedded import HISTORY_DAYS, LOOKAHEAD, SHARDS
from onthedot.wiring.sqlite import SqliteEngine

__all__ = ["copy_database", "engine_on_copy"]


@contextmanager
def engine_on_copy(source: Path) -> Iterator[Engine]:
    """Yield an engine on a copy of the file, as it was at one moment. The server goes on. Raise OnthedotError."""
    with tempfile.TemporaryDirectory(prefix="onthedot-") as folder:
        copy = Path(folder) / source.name
        copy.touch(mode=0o600)
        copy_database(source, copy)
        with Database(copy) as database:
            yield SqliteEngine.on(database, SystemClock(), Deployment(SHARDS, LOOKAHEAD, HISTORY_DAYS)).engine
