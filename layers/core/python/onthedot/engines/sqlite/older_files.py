"""The steps that bring a file from an earlier version to the current format. Each writes as that version did."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, Final

from onthedot.core import json_text
from onthedot.core.ids import event_digest
from onthedot.core.listing import listed_under
from onthedot.core.records import Kind

_TOKENS: Final = (
    "CREATE TABLE IF NOT EXISTS api_tokens (token_hash TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL,"
    " role TEXT NOT NULL, name TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER) WITHOUT ROWID"
)
_STATISTICS_SECONDS: Final = 35 * 86_400


def _give_ids_to_tokens(connection: sqlite3.Connection) -> None:
    """Move the tokens of the first files, which had no id, into a table of tokens with ids."""
    if _has(connection, "tokens"):
        connection.execute(_TOKENS)
        connection.execute(
            "INSERT INTO api_tokens"
            " SELECT token_hash, 'tok_' || lower(hex(randomblob(6))), tenant, role, name, created_at, NULL FROM tokens"
        )
        connection.execute("DROP TABLE tokens")


def _list_by_kind(connection: sqlite3.Connection) -> None:
    query = "SELECT run_id, tenant, kind FROM runs WHERE kind IN (?, ?) AND listed_under IS NOT NULL"
    jobs = connection.execute(query, (Kind.RECURRING, Kind.EVENT)).fetchall()
    moved = [(listed_under(job["tenant"], job["run_id"], Kind(job["kind"])), job["run_id"]) for job in jobs]
    connection.executemany("UPDATE runs SET listed_under = ? WHERE run_id = ?", moved)


# Each SELECT yields the partition, the sort key, the content, the expiry, the slot and the fire time of items.
# `json_patch` leaves out what is NULL.
_ABOUT: Final = (
    "'id', id, 'tenant', tenant, 'role', role, 'name', name, 'token_created_at', created_at, 'valid_until', expires_at,"
    " 'expires_at', (expires_at + 999) / 1000"
)
_OF_TENANT: Final = "length(tenant) || ':' || tenant || '#'"
_ITEMS: Final[dict[str, tuple[str, ...]]] = {
    "api_tokens": (
        f"SELECT 'token#' || token_hash, 'token', json_object({_ABOUT}), (expires_at + 999) / 1000, NULL, NULL"  # noqa: S608
        " FROM api_tokens",
        f"SELECT 'tokens', id, json_object({_ABOUT}, 'token_hash', token_hash), (expires_at + 999) / 1000, NULL, NULL"  # noqa: S608
        " FROM api_tokens",
    ),
    # The first versions stored marks of throttled tenants next to the limits.
    "limits": (
        "SELECT 'limits', 'tenant#' || name, json_object('limits', content), NULL, NULL, NULL FROM limits"
        " WHERE substr(name, 1, 10) != 'throttled#'",
    ),
    "gates": (
        "SELECT 'gates#' || tenant, 'gate#' || name, json_object('limits', limits), NULL, NULL, NULL FROM gates",
    ),
    "gate_states": (
        "SELECT 'gate#' || gate, CAST(page AS TEXT), json_object("
        " 'h', json(CASE WHEN json_valid(holders) AND holders != '[]' THEN holders END), 'c', capacity, 'slot', slot,"
        " 'fire_at', fire_at, 'f', flagged_at, 'p', json(CASE WHEN json_valid(priorities) AND priorities != '[]' THEN"
        " (SELECT json_group_array(substr(value, 1, 1)) FROM json_each(priorities)) END), 'n', parts, 's', next_start,"
        " 'i', next_instant, 'expires_at', expires_at), expires_at, slot, fire_at FROM gate_states",
    ),
    "workers": (
        "SELECT 'workers', worker_id, json_object('about', about, 'heartbeat_at', heartbeat_at, 'load', load,"
        " 'expires_at', expires_at, 'assigned', json((SELECT nullif(json_group_array(run_id), '[]') FROM assigned"
        " WHERE assigned.worker_id = workers.worker_id))), expires_at, NULL, NULL FROM workers",
    ),
    "assigned": (),
    "signing": ("SELECT 'signing#' || tenant, 'signing', json_object('keys', keys), NULL, NULL, NULL FROM signing",),
    "patterns": (
        f"SELECT 'pattern#' || {_OF_TENANT} || key, job_id || '#' || name,"  # noqa: S608
        " json_object('pattern', pattern, 'put_at', put_at), NULL, NULL, NULL FROM patterns",
    ),
    "events": (
        f"SELECT 'event#' || {_OF_TENANT} || digest_of(event_id), 'event',"  # noqa: S608
        " json_object('event_time', time, 'expires_at', expires_at), expires_at, NULL, NULL FROM events",
    ),
    "stage": ("SELECT 'shards', 'stage', json_object('stage_state', state), NULL, NULL, NULL FROM stage",),
    "shards": ("SELECT 'shards', 'shards', json_object('steps', steps), NULL, NULL, NULL FROM shards",),
    "shard_progress": (
        "SELECT 'progress#' || shard, 'progress',"
        " json_object('done', done, 'tick_id', tick_id, 'busy_until', busy_until), NULL, NULL, NULL"
        " FROM shard_progress",
    ),
}


def _move_to_items(connection: sqlite3.Connection) -> None:
    """Move everything that is not a run, blob or message into the table of items."""
    if _has(connection, "events"):
        connection.create_function("digest_of", 1, _digest_of, deterministic=True)
    for table, queries in _ITEMS.items():
        if _has(connection, table):
            for query in queries:
                connection.execute(
                    f"WITH found (p, s, content, expiry, slot, fire_at) AS ({query})"  # noqa: S608 - no values
                    " INSERT OR IGNORE INTO items (partition, sort, content, expires_at, slot, fire_at)"
                    " SELECT p, s, json_patch('{}', content), expiry, slot, fire_at FROM found"
                )
    if _has(connection, "statistics"):
        rows = connection.execute("SELECT * FROM statistics ORDER BY tenant, minute")
        statement = "INSERT INTO items (partition, sort, content, expires_at) VALUES (?, ?, ?, ?)"
        connection.executemany(statement, _minutes(rows))
    for table in (*reversed(_ITEMS), "statistics"):
        connection.execute(f"DROP TABLE IF EXISTS {table}")


def _digest_of(event_id: str) -> str:
    """Return the hash of an event's id. Of an event that an import stored, only the hash is known."""
    return event_id.removeprefix("sha256:") if event_id.startswith("sha256:") else event_digest(event_id)


def _minutes(rows: Iterable[sqlite3.Row]) -> Iterator[tuple[Any, ...]]:
    """Yield the item of each tenant and minute, with the numbers of its priorities that are not 0."""
    for (tenant, minute), found in groupby(rows, key=lambda row: (row["tenant"], row["minute"])):
        expiry = minute * 60 + _STATISTICS_SECONDS
        numbers = {
            f"{row['priority'][0]}_{name}": row[name]
            for row in found
            for name in row.keys()  # noqa: SIM118 - a row is not a mapping
            if name not in ("tenant", "minute", "priority") and (row[name] or (row[name] == 0 and name == "max_ms"))
        }
        content = json_text.to_text({**numbers, "expires_at": expiry})
        yield f"statistics#{tenant}", f"{minute:012d}", content, expiry


def _has(connection: sqlite3.Connection, table: str) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(query, (table,)).fetchone() is not None


STEPS: Final[tuple[Callable[[sqlite3.Connection], None], ...]] = (_give_ids_to_tokens, _list_by_kind, _move_to_items)
"""The step at place n brings a file of format n to format n + 1. Missing tables and columns need no step."""
