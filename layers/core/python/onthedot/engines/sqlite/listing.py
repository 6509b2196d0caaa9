"""Entries of the listing index, with the facts of jobs from their rows."""

import json
import sqlite3
from typing import Final

from onthedot.core.choices import Priority
from onthedot.core.listing import JobFacts, makes_graph
from onthedot.core.ports import ListEntry
from onthedot.core.records import Kind

_LATEST: Final = 2**63 - 1
_QUERY: Final = (
    "SELECT run_id, created_at, kind, priority, workflow, definition, format FROM runs"
    " WHERE listed_under = ? AND (created_at, run_id) < (?, ?) ORDER BY created_at DESC, run_id DESC LIMIT ?"
)


def listed_jobs(
    connection: sqlite3.Connection, partition: str, limit: int, after: tuple[int, str] | None
) -> tuple[list[ListEntry], bool]:
    rows = connection.execute(_QUERY, (partition, *(after or (_LATEST, "")), limit + 1)).fetchall()
    return [ListEntry(row["run_id"], row["created_at"], _facts(row)) for row in rows[:limit]], len(rows) > limit


def _facts(row: sqlite3.Row) -> JobFacts | None:
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
