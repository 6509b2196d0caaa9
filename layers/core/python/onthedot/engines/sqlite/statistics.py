"""Counters of ended runs in SQLite. An end is counted in the transaction that writes it, so it is counted once."""

import sqlite3
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from onthedot.domain.runs.moves import Move
from onthedot.domain.runs.records import Priority, Record, Status
from onthedot.domain.statistics.counters import MAX_MS, STORED, from_stored
from onthedot.domain.statistics.ends import ENDED, Before, EndedRun, end_after, end_of, numbers_of
from onthedot.domain.statistics.steps import KEPT_DAYS, MinuteCounters
from onthedot.engines.sqlite.database import Database

KEPT_MINUTES: Final = KEPT_DAYS * 24 * 60
_PURGED_AT_ONCE: Final = 500
_AMBIGUOUS: Final = ENDED | {Status.RUNNING}
"""Statuses before an end that make a difference to its counting."""


class SqliteStatistics:
    """A `StatisticsStore` with a row for each tenant, minute and priority."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, tenant: str, first: int, end: int) -> Sequence[MinuteCounters]:
        query = "SELECT * FROM statistics WHERE tenant = ? AND minute >= ? AND minute < ?"
        with self._database.reading() as connection:
            rows = connection.execute(query, (tenant, first, end)).fetchall()
        return [_minute(row) for row in rows]


def _minute(row: sqlite3.Row) -> MinuteCounters:
    stored = {name: row[name] for name in (*STORED, MAX_MS)}
    return MinuteCounters(row["minute"], Priority(row["priority"]), from_stored(stored))


def count_new(connection: sqlite3.Connection, run: Record, now: int) -> None:
    """Count a record that is stored for the first time, if it is created as ended."""
    if run.status in ENDED and (ended := end_of(None, run, now)) is not None:
        _count(connection, ended)


def before(connection: sqlite3.Connection, move: Move) -> Before | None:
    """Return the facts before a move that may end a run. None: the move ends no run.

    In most cases the condition of the move says them, without a read.
    """
    if move.to not in ENDED:
        return None
    expected = move.expect.status
    if expected.isdisjoint(_AMBIGUOUS) or expected == {Status.RUNNING}:
        return Before(next(iter(expected)))
    query = "SELECT status, skipped_count FROM runs WHERE run_id = ?"
    row = connection.execute(query, (move.run_id,)).fetchone()
    return None if row is None else Before(Status(row["status"]), row["skipped_count"])


def count_moved(connection: sqlite3.Connection, facts: Before, run: Record, now: int) -> None:
    """Count a record that was moved, if the move has ended it."""
    if (ended := end_after(facts, run, now)) is not None:
        _count(connection, ended)


def purge_statistics(connection: sqlite3.Connection, now: int) -> None:
    """Delete some counters of minutes that are no longer kept."""
    query = (
        "DELETE FROM statistics WHERE (tenant, minute, priority) IN"
        " (SELECT tenant, minute, priority FROM statistics WHERE minute < ? LIMIT ?)"
    )
    connection.execute(query, (now // 60_000 - KEPT_MINUTES, _PURGED_AT_ONCE))


def _count(connection: sqlite3.Connection, ended: EndedRun) -> None:
    numbers = numbers_of(ended)
    key = (ended.tenant, ended.minute, ended.priority.value)
    connection.execute(_upsert(tuple(numbers)), (*key, ended.lateness_ms, *numbers.values()))


@lru_cache(maxsize=1024)
def _upsert(names: tuple[str, ...]) -> str:
    """Return the statement that adds numbers of these names, and keeps the largest lateness."""
    columns = ", ".join(("tenant", "minute", "priority", MAX_MS, *names))
    marks = ", ".join("?" * (4 + len(names)))
    sums = [f"{name} = {name} + excluded.{name}" for name in names]
    # In SQLite, the maximum of a value and NULL is NULL.
    sums.append(f"{MAX_MS} = max(coalesce({MAX_MS}, excluded.{MAX_MS}), coalesce(excluded.{MAX_MS}, {MAX_MS}))")
    return (
        f"INSERT INTO statistics ({columns}) VALUES ({marks})"  # noqa: S608 - names only
        f" ON CONFLICT (tenant, minute, priority) DO UPDATE SET {', '.join(sums)}"
    )
