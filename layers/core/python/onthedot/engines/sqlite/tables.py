"""The tables of the embedded engine, and the steps that bring a file of an earlier version to them."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from onthedot import schema
from onthedot.domain.runs.listing import listed_under
from onthedot.domain.runs.records import FIELDS, INTEGERS, Kind
from onthedot.domain.statistics.counters import STORED

FORMAT: Final = 2
"""The format of the file, as SQLite's `user_version`: the number of `STEPS`. Files of the first version have 0."""

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS shard_progress (
    shard INTEGER PRIMARY KEY, done TEXT, tick_id TEXT, busy_until INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS stage (only INTEGER PRIMARY KEY CHECK (only = 1), state TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS shards (only INTEGER PRIMARY KEY CHECK (only = 1), steps TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS api_tokens (
    token_hash TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL, role TEXT NOT NULL, name TEXT NOT NULL,
    created_at INTEGER NOT NULL, expires_at INTEGER
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS api_tokens_expiry ON api_tokens (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS limits (name TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS gates (
    tenant TEXT, name TEXT, limits TEXT NOT NULL, PRIMARY KEY (tenant, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS gate_states (
    gate TEXT, page INTEGER, holders TEXT NOT NULL, capacity INTEGER, slot TEXT, fire_at INTEGER, flagged_at INTEGER,
    priorities TEXT NOT NULL, parts INTEGER, next_start INTEGER, next_instant INTEGER, expires_at INTEGER NOT NULL,
    PRIMARY KEY (gate, page)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS gate_states_due ON gate_states (slot, fire_at, gate) WHERE slot IS NOT NULL;
CREATE INDEX IF NOT EXISTS gate_states_expiry ON gate_states (expires_at);
CREATE TABLE IF NOT EXISTS workers (
    worker_id TEXT PRIMARY KEY, about TEXT NOT NULL, heartbeat_at INTEGER NOT NULL, load TEXT NOT NULL,
    expires_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS assigned (worker_id TEXT, run_id TEXT, PRIMARY KEY (worker_id, run_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS signing (tenant TEXT PRIMARY KEY, keys TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS patterns (
    tenant TEXT, key TEXT, job_id TEXT, name TEXT, pattern TEXT NOT NULL, put_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, key, job_id, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
    tenant TEXT, event_id TEXT, time INTEGER NOT NULL, expires_at INTEGER NOT NULL, PRIMARY KEY (tenant, event_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blobs (key TEXT PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT NOT NULL, message_group TEXT, body TEXT NOT NULL,
    sent_at INTEGER NOT NULL, visible_at INTEGER NOT NULL, receives INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS messages_by_time ON messages (queue, visible_at, id);
CREATE INDEX IF NOT EXISTS statistics_by_age ON statistics (minute);
"""


class NewerFile(Exception):
    """A newer version of onthedot wrote the file. This version leaves it as it is."""


def prepare(connection: sqlite3.Connection, path: str | Path) -> None:
    """Create missing tables, and bring a file of an earlier version to this format, step by step. Raise NewerFile.

    The caller has opened a transaction. When a step fails, or the process dies, the file stays as it was.
    """
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found > FORMAT:
        raise NewerFile(f"{path} has format {found}, and this version of onthedot knows formats up to {FORMAT}")
    _create_missing(connection)
    for step in STEPS[found:]:
        step(connection)
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _create_missing(connection: sqlite3.Connection) -> None:
    """Create missing tables, indexes and columns. A file of an earlier version gets the columns of new fields."""
    columns = {name: f'"{name}" {"INTEGER" if name in INTEGERS else ""}' for name in FIELDS}
    rest = ", ".join(column for name, column in columns.items() if name != "run_id")
    connection.execute(f"CREATE TABLE IF NOT EXISTS runs (run_id TEXT PRIMARY KEY, {rest})")
    present = {row["name"] for row in connection.execute("PRAGMA table_info(runs)")}
    for name in FIELDS:
        if name not in present:
            connection.execute(f"ALTER TABLE runs ADD COLUMN {columns[name]}")
    sums = ", ".join(f"{name} INTEGER NOT NULL DEFAULT 0" for name in STORED)
    connection.execute(
        "CREATE TABLE IF NOT EXISTS statistics (tenant TEXT NOT NULL, minute INTEGER NOT NULL, priority TEXT NOT NULL,"
        f" {sums}, max_ms INTEGER, PRIMARY KEY (tenant, minute, priority)) WITHOUT ROWID"
    )
    for index in schema.INDEXES:
        connection.execute(_sparse_index(index.name, index.partition_key, index.sort_key, "run_id"))
    connection.execute(_sparse_index("expiry", schema.TTL_ATTRIBUTE))
    for statement in _TABLES.split(";"):
        connection.execute(statement)


def _sparse_index(name: str, *columns: str) -> str:
    listed = ", ".join(f'"{column}"' for column in columns)
    return f'CREATE INDEX IF NOT EXISTS "runs_{name}" ON runs ({listed}) WHERE "{columns[0]}" IS NOT NULL'


def _give_ids_to_tokens(connection: sqlite3.Connection) -> None:
    """Move the tokens of the first files, which had no id, into the table of tokens with ids."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'tokens'").fetchone():
        connection.execute(
            "INSERT INTO api_tokens"
            " SELECT token_hash, 'tok_' || lower(hex(randomblob(6))), tenant, role, name, created_at, NULL FROM tokens"
        )
        connection.execute("DROP TABLE tokens")


def _list_by_kind(connection: sqlite3.Connection) -> None:
    """List recurring and event jobs apart from one-off jobs."""
    query = "SELECT run_id, tenant, kind FROM runs WHERE kind IN (?, ?) AND listed_under IS NOT NULL"
    jobs = connection.execute(query, (Kind.RECURRING, Kind.EVENT)).fetchall()
    moved = [(listed_under(job["tenant"], job["run_id"], Kind(job["kind"])), job["run_id"]) for job in jobs]
    connection.executemany("UPDATE runs SET listed_under = ? WHERE run_id = ?", moved)


STEPS: Final[tuple[Callable[[sqlite3.Connection], None], ...]] = (_give_ids_to_tokens, _list_by_kind)
"""The step at place n brings a file of format n to format n + 1. Missing tables and columns need no step."""
