"""The state of the stage in SQLite."""

import sqlite3
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.transfer import stage_state
from onthedot.domain.transfer.stage_state import StageState
from onthedot.engines.freezing import KnownStage
from onthedot.engines.sqlite.database import Database
from onthedot.ports import Clock

KNOWN_MS: Final = 1_000
SETTLE_MS: Final = 5_000
"""One process owns the file and follows its own change at once. A thread that checked the state before writes within
this time: it waits for nothing but the lock."""


class SqliteStage:
    """The state as one row."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def fresh(self) -> StageState:
        with self._database.reading() as connection:
            return _read(connection)

    def replace(self, seen: StageState, state: StageState) -> bool:
        with self._database.transaction() as connection:
            if _read(connection) != seen:
                return False
            connection.execute("INSERT OR REPLACE INTO stage VALUES (1, ?)", (stage_state.to_text(state),))
            return True


def known_stage(database: Database, clock: Clock) -> KnownStage:
    """Return the state of the stage as a process knows it."""
    return KnownStage(SqliteStage(database), clock, known_ms=KNOWN_MS, settle_ms=SETTLE_MS)


def _read(connection: sqlite3.Connection) -> StageState:
    row = connection.execute("SELECT state FROM stage").fetchone()
    if row is None:
        return StageState()
    try:
        return stage_state.from_text(row["state"])
    except (ValueError, KeyError, TypeError) as error:
        raise Unavailable(f"the state of the stage cannot be read: {error}") from error
