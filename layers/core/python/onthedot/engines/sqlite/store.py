"""Records in SQLite. Every move is one conditional UPDATE, as every move on AWS is one conditional write."""

import json
import sqlite3
from collections.abc import Sequence
from typing import Final

from onthedot.core.choices import Priority
from onthedot.core.errors import UnreadableRecord
from onthedot.core.ids import stamped_run_id
from onthedot.core.listing import ALWAYS, JobFacts, Window, dead_letter_partitions, makes_graph
from onthedot.core.moves import Move, applied
from onthedot.core.ports import Clock, Deadline, ListEntry, Moved, Page, ReadRecords, Refused, SlotEntry
from onthedot.core.records import Kind, Record, Status
from onthedot.core.schema import GATE_PREFIX
from onthedot.core.slots import SlotKind, aside_slot, slot_shard
from onthedot.engines.entries import read_each
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.items import SqliteItems
from onthedot.engines.sqlite.rows import COLUMNS, ENTRY_COLUMNS, entry_of, insert_of, record_of, update_of
from onthedot.statistics.counters import ENDED, Before, EndedRun, end_after, end_of
from onthedot.statistics.store import counting_of

PURGED_AT_ONCE: Final = 100
PURGE_MS: Final = 50
"""Expired records are deleted at most once in this time, so that a burst of jobs does not look for them each time."""
_ID_BATCH: Final = 500
_GATE: Final = f"substr(partition, {len(GATE_PREFIX) + 1})"
"""The text of a gate. Only its items have a slot."""

_SELECT: Final = f"SELECT {COLUMNS} FROM runs"  # noqa: S608 - field names only
_ENTRIES: Final = f"SELECT {ENTRY_COLUMNS} FROM runs"  # noqa: S608 - field names only
_LAST_TIME: Final = 2**63 - 1
_LISTED: Final = (
    "SELECT run_id, created_at, kind, priority, workflow, definition, format FROM runs"
    " WHERE listed_under = ? AND (created_at, run_id) < (?, ?) ORDER BY created_at DESC, run_id DESC LIMIT ?"
)
_AMBIGUOUS: Final = ENDED | {Status.RUNNING}
"""Statuses before an end that make a difference to its counting."""


class SqliteRunStore:
    """A `RunStore` that never throttles, so every call meets its deadline. Slots are read consistently."""

    def __init__(self, database: Database, clock: Clock, page_size: int = 1000) -> None:
        self._database = database
        self._clock = clock
        self._page_size = page_size
        self._items = SqliteItems(database, clock)
        self._purge_at = 0

    def create(self, run: Record) -> Record | None:
        if (now := self._clock.now()) >= self._purge_at:
            with self._database.statement() as connection:
                _purge_expired(connection, now)
            self._purge_at = now + PURGE_MS
        # A run that is stored as ended is counted by a second statement.
        counted = run.status in ENDED
        with self._database.transaction() if counted else self._database.statement() as connection:
            outcome = self._insert(connection, run, now)
        if isinstance(outcome, Moved):
            return None
        if outcome.unreadable is not None:
            raise UnreadableRecord(outcome.unreadable)
        return outcome.current

    def create_many(self, records: Sequence[Record], deadline: Deadline) -> Sequence[Moved | Refused]:  # noqa: ARG002
        now = self._clock.now()
        with self._database.transaction() as connection:
            return [self._insert(connection, record, now) for record in records]

    def runs_of(self, job_id: str, limit: int, cursor: str | None = None, *, until: int | None = None) -> Page[Record]:
        query = f"{_SELECT} WHERE run_id > ? AND run_id < ? ORDER BY run_id DESC LIMIT ?"
        with self._database.reading() as connection:
            # The id of a stamped run is `job.time`. "/" is the character after ".".
            last = f"{job_id}/" if until is None else stamped_run_id(job_id, until + 1)
            rows = connection.execute(query, (f"{job_id}.", cursor or last, limit + 1)).fetchall()
        runs, faulty = read_each(rows[:limit], record_of)
        return Page(runs, rows[limit - 1]["run_id"] if len(rows) > limit else None, faulty)

    def get(self, run_id: str) -> Record | None:
        with self._database.reading() as connection:
            return _find(connection, run_id)

    def get_many(self, run_ids: Sequence[str], deadline: Deadline) -> ReadRecords:  # noqa: ARG002
        with self._database.reading() as connection:
            firsts = range(0, len(run_ids), _ID_BATCH)
            rows = [row for first in firsts for row in _find_all(connection, run_ids[first : first + _ID_BATCH])]
        runs, faulty = read_each(rows, record_of)
        return ReadRecords({run.run_id: run for run in runs}, {one.run_id: one for one in faulty})

    def move(self, move: Move) -> Moved | Refused:
        reads_first = bool(move.adds or move.removes)
        with self._database.transaction() if reads_first else self._database.statement() as connection:
            return self._apply(connection, move)

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> Sequence[Moved | Refused]:  # noqa: ARG002
        if len({move.run_id for move in moves}) != len(moves):
            raise ValueError("move_many takes moves on different runs")
        faulty: dict[str, Refused] = {}
        while True:
            try:
                with self._database.transaction() as connection:
                    return [faulty.get(move.run_id) or self._apply(connection, move) for move in moves]
            except UnreadableRecord as error:
                # Nothing was moved. The other records are moved without the one that cannot be read.
                faulty[error.record.run_id] = Refused(None, error.record)

    def apply(self, moves: Sequence[tuple[Move, Record]]) -> Sequence[Record | None]:
        """Apply moves on records that the caller knows, all in one transaction. Return each record as it is then.

        None: it is not as the caller knows it, or the expectation does not hold. No record is read.
        """
        alone = len(moves) == 1
        with self._database.statement() if alone else self._database.transaction() as connection:
            return [self._apply_known(connection, *move) for move in moves]

    def set_aside(self, run_id: str, slot: str, why: str, now: int) -> bool:
        query = (
            "UPDATE runs SET slot = ?, aside_from = slot, aside_since = ?, aside_why = ? WHERE run_id = ? AND slot = ?"
        )
        with self._database.transaction() as connection:
            changed = connection.execute(query, (aside_slot(slot_shard(slot)), now, why, run_id, slot))
        return bool(changed.rowcount)

    def read_slot(self, slot: str, cursor: str | None = None, limit: int | None = None) -> Page[SlotEntry]:
        size = min(limit or self._page_size, self._page_size)
        runs = f"{_ENTRIES} WHERE slot = ? AND (fire_at, run_id) > (?, ?) ORDER BY fire_at, run_id LIMIT ?"
        gates = (
            f"SELECT {_GATE} AS run_id, slot, fire_at, 'gate' AS kind FROM items"  # noqa: S608 - no values
            " WHERE slot = ? AND (fire_at, partition) > (?, ?) ORDER BY fire_at, partition LIMIT ?"
        )
        fire_at, last = _position(cursor)
        # One row more than the page shows whether there is another page.
        size_and_one = size + 1
        with self._database.reading() as connection:
            rows = connection.execute(runs, (slot, fire_at, last, size_and_one)).fetchall()
            rows += connection.execute(gates, (slot, fire_at, GATE_PREFIX + last, size_and_one)).fetchall()
        rows.sort(key=lambda row: (row["fire_at"], row["run_id"]))
        page = rows[:size]
        entries, faulty = read_each(page, entry_of)
        return Page(entries, _cursor(page[-1]) if len(rows) > len(page) else None, faulty)

    def slots(self, cursor: str | None = None) -> Page[str]:
        query = (
            f"SELECT id, slot FROM (SELECT run_id AS id, slot FROM runs UNION ALL SELECT {_GATE}, slot FROM items)"  # noqa: S608
            " WHERE slot IS NOT NULL AND id > ? ORDER BY id LIMIT ?"
        )
        with self._database.reading() as connection:
            rows = connection.execute(query, (cursor or "", self._page_size + 1)).fetchall()
        page = rows[: self._page_size]
        return Page([row["slot"] for row in page], page[-1]["id"] if len(rows) > len(page) else None)

    def watched(self, after: tuple[str, str] = ("", "")) -> Page[SlotEntry]:
        """Return a page of the runs in all watch slots, by slot. `after` has slot and id of the last one before."""
        query = f"{_ENTRIES} WHERE slot >= ? AND slot < ? AND (slot, run_id) > (?, ?) ORDER BY slot, run_id LIMIT ?"
        # "$" is the character after "#", which ends the kind in the name of a slot.
        first, end = f"{SlotKind.WATCH}#", f"{SlotKind.WATCH}$"
        with self._database.reading() as connection:
            rows = connection.execute(query, (max(first, after[0]), end, *after, self._page_size)).fetchall()
        entries, faulty = read_each(rows, entry_of)
        last = rows[-1] if len(rows) == self._page_size else None
        return Page(entries, None if last is None else f"{last['slot']}/{last['run_id']}", faulty)

    def failed(self, tenant: str, limit: int, cursor: str | None = None, window: Window = ALWAYS) -> Page[Record]:
        query = (
            f"{_SELECT} WHERE failed_under = ? AND (finished_at, run_id) < (?, ?) AND finished_at >= ?"
            " AND status = 'FAILED' AND tenant = ?"
            " ORDER BY finished_at DESC, run_id DESC LIMIT ?"
        )
        before = (window.until, "") if cursor is None else _position(cursor)
        # One query for each partition: SQLite takes their order from the index.
        with self._database.reading() as connection:
            rows = [
                row
                for partition in dead_letter_partitions(tenant)
                for row in connection.execute(query, (partition, *before, window.since, tenant, limit + 1))
            ]
        rows.sort(key=lambda row: (row["finished_at"], row["run_id"]), reverse=True)
        page = rows[:limit]
        runs, faulty = read_each(page, record_of)
        return Page(runs, f"{page[-1]['finished_at']}/{page[-1]['run_id']}" if len(rows) > limit else None, faulty)

    def listed(self, partition: str, limit: int, after: tuple[int, str] | None = None) -> tuple[list[ListEntry], bool]:
        with self._database.reading() as connection:
            rows = connection.execute(_LISTED, (partition, *(after or (_LAST_TIME, "")), limit + 1)).fetchall()
        return [ListEntry(row["run_id"], row["created_at"], _facts_of(row)) for row in rows[:limit]], len(rows) > limit

    def _insert(self, connection: sqlite3.Connection, run: Record, now: int) -> Moved | Refused:
        if connection.execute(*insert_of(run)).rowcount:
            if run.status in ENDED:
                self._count(end_of(None, run, now))
            return Moved(run)
        return _refused(connection, run.run_id)

    def _apply(self, connection: sqlite3.Connection, move: Move) -> Moved | Refused:
        sets = _changed_sets(connection, move) if move.adds or move.removes else None
        before = _before(connection, move)
        row = connection.execute(*update_of(move, sets)).fetchone()
        if row is None:
            return _refused(connection, move.run_id)
        run = record_of(row)
        if before is not None:
            self._count(end_after(before, run, self._clock.now()))
        return Moved(run)

    def _apply_known(self, connection: sqlite3.Connection, move: Move, known: Record) -> Record | None:
        moved = applied(known, move)
        sets = {name: getattr(moved, name) for name in (*move.adds, *move.removes)}
        if not connection.execute(*update_of(move, sets, known.revision)).rowcount:
            return None
        if move.to in ENDED:
            self._count(end_after(Before(known.status, known.skipped_count), moved, self._clock.now()))
        return moved

    def _count(self, ended: EndedRun | None) -> None:
        """Count the end of a run in the transaction that writes it, so that it is counted once."""
        if ended is not None:
            self._items.count(*counting_of(ended))


def _refused(connection: sqlite3.Connection, run_id: str) -> Refused:
    try:
        return Refused(_find(connection, run_id))
    except UnreadableRecord as error:
        return Refused(None, error.record)


def _changed_sets(connection: sqlite3.Connection, move: Move) -> dict[str, frozenset[str]]:
    names = {*move.adds, *move.removes}
    current = _find(connection, move.run_id) if names else None
    if current is None:
        return {}
    nothing: frozenset[str] = frozenset()
    return {n: getattr(current, n) - move.removes.get(n, nothing) | move.adds.get(n, nothing) for n in names}


def _places(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))


def _find(connection: sqlite3.Connection, run_id: str) -> Record | None:
    rows = _find_all(connection, [run_id])
    return record_of(rows[0]) if rows else None


def _find_all(connection: sqlite3.Connection, run_ids: Sequence[str]) -> list[sqlite3.Row]:
    query = f"{_SELECT} WHERE run_id IN ({_places(run_ids)})"
    return connection.execute(query, list(run_ids)).fetchall()


def _cursor(last: sqlite3.Row) -> str:
    return f"{last['fire_at']}/{last['run_id']}"


def _position(cursor: str | None) -> tuple[int, str]:
    """Return the key after which the next page begins. A key, unlike an offset, is not shifted by moves."""
    if cursor is None:
        return -1, ""
    fire_at, _, run_id = cursor.partition("/")
    return int(fire_at), run_id


def _purge_expired(connection: sqlite3.Connection, now: int) -> None:
    """Delete a few expired records. SQLite has no TTL, so each `create` does it."""
    query = "DELETE FROM runs WHERE run_id IN (SELECT run_id FROM runs WHERE expires_at <= ? LIMIT ?)"
    connection.execute(query, (now // 1000, PURGED_AT_ONCE))


def _before(connection: sqlite3.Connection, move: Move) -> Before | None:
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


def _facts_of(row: sqlite3.Row) -> JobFacts | None:
    """Return the facts of a row. None: it cannot be read, which the reader of the whole record reports."""
    try:
        if row["format"] is not None:
            return None
        content = json.loads(row["definition"])
        name, tags = content.get("name"), content.get("tags", {})
        is_workflow = makes_graph(row["run_id"], row["workflow"])
        return JobFacts(Kind(row["kind"]), Priority(row["priority"]), row["workflow"], name, tags, is_workflow)
    except (ValueError, TypeError, AttributeError):
        return None
