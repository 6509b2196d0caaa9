"""Counting of ended runs in SQLite. An end is counted in the transaction that writes it, so it is counted once."""

import sqlite3
from typing import Final

from onthedot.core.moves import Move
from onthedot.core.records import Record, Status
from onthedot.engines.sqlite.items import SqliteItems
from onthedot.statistics.counters import ENDED, Before, EndedRun, end_after, end_of
from onthedot.statistics.store import counting_of

_AMBIGUOUS: Final = ENDED | {Status.RUNNING}
"""Statuses before an end that make a difference to its counting."""


def count_new(items: SqliteItems, run: Record, now: int) -> None:
    """Count a record that is stored for the first time, if it is created as ended."""
    if run.status in ENDED and (ended := end_of(None, run, now)) is not None:
        _count(items, ended)


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


def count_moved(items: SqliteItems, facts: Before, run: Record, now: int) -> None:
    if (ended := end_after(facts, run, now)) is not None:
        _count(items, ended)


def _count(items: SqliteItems, ended: EndedRun) -> None:
    items.count(*counting_of(ended))
