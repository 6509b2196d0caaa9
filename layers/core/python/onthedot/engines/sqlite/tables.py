"""The tables of the embedded engine, and how they come into a file."""

import sqlite3
from pathlib import Path
from typing import Final

from onthedot.core import schema
from onthedot.core.codec import stored_name
from onthedot.core.records import FIELDS, INTEGERS
from onthedot.engines.sqlite.older_files import STEPS

FORMAT: Final = 3
"""The format of the file, as SQLite's `user_version`: the number of `STEPS`. Files of the first version have 0."""

# A server has its queues in memory. The table of messages is a part of the format, and scenarios of AWS use it.
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS items (
    partition TEXT, sort TEXT, content TEXT NOT NULL, expires_at INTEGER, slot TEXT, fire_at INTEGER,
    PRIMARY KEY (partition, sort)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS items_expiry ON items (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS items_due ON items (slot, fire_at, partition) WHERE slot IS NOT NULL;
CREATE TABLE IF NOT EXISTS blobs (key TEXT PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT NOT NULL, message_group TEXT, body TEXT NOT NULL,
    sent_at INTEGER NOT NULL, visible_at INTEGER NOT NULL, receives INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS messages_by_time ON messages (queue, visible_at, id);
"""


class NewerFile(Exception):
    """A newer version of onthedot wrote the file. This version leaves it as it is."""


def prepare(connection: sqlite3.Connection, path: str | Path) -> None:
    """Create missing tables, and bring a file from an earlier version to this format, step by step. Raise NewerFile.

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
    columns = {stored_name(name): f'"{stored_name(name)}" {"INTEGER" if name in INTEGERS else ""}' for name in FIELDS}
    rest = ", ".join(column for name, column in columns.items() if name != "run_id")
    connection.execute(f"CREATE TABLE IF NOT EXISTS runs (run_id TEXT PRIMARY KEY, {rest})")
    present = {row["name"] for row in connection.execute("PRAGMA table_info(runs)")}
    for name, column in columns.items():
        if name not in present:
            connection.execute(f"ALTER TABLE runs ADD COLUMN {column}")
    for index in schema.INDEXES:
        connection.execute(_sparse_index(index.name, index.partition_key, index.sort_key, "run_id"))
    connection.execute(_sparse_index("expiry", schema.TTL_ATTRIBUTE))
    for statement in _TABLES.split(";"):
        connection.execute(statement)


def _sparse_index(name: str, *columns: str) -> str:
    listed = ", ".join(f'"{column}"' for column in columns)
    return f'CREATE INDEX IF NOT EXISTS "runs_{name}" ON runs ({listed}) WHERE "{columns[0]}" IS NOT NULL'
