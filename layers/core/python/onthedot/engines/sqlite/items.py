"""Items in SQLite: one table, whose rows have the values of an item as JSON.

Every write that has a condition reads, decides and stores in one transaction.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from onthedot.core.items import (
    EXPIRES_AT,
    Change,
    Condition,
    Item,
    Scanned,
    Update,
    Value,
    Values,
    Written,
    applied,
    has_expired,
    holds,
)
from onthedot.core.ports import Clock, Page
from onthedot.core.records import SETS
from onthedot.core.schema import DUE, Key, may_be_record, run_id_of, run_key
from onthedot.engines.sqlite.database import Database

PAGE: Final = 1_000
PURGED_AT_ONCE: Final = 200
PURGE_MS: Final = 1_000
"""Expired items are deleted at most once in this time. SQLite has no TTL, so writes of items that expire do it."""
_GET: Final = "SELECT content FROM items WHERE partition = ? AND sort = ?"
_PUT: Final = (
    "INSERT OR REPLACE INTO items (partition, sort, content, expires_at, slot, fire_at) VALUES (?, ?, ?, ?, ?, ?)"
)
_DELETE: Final = "DELETE FROM items WHERE partition = ? AND sort = ?"
_PURGE: Final = (
    "DELETE FROM items WHERE (partition, sort) IN (SELECT partition, sort FROM items WHERE expires_at <= ? LIMIT ?)"
)
QUERY: Final = (
    "SELECT sort, content FROM items WHERE partition = ? AND sort > ? AND sort >= ? AND sort <= ? ORDER BY sort LIMIT ?"
)
_AFTER_ALL: Final = "\U0010ffff"
"""Sorts after all other characters."""

_encode: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, default=sorted).encode


class SqliteItems:
    def __init__(self, database: Database, clock: Clock, page_size: int = PAGE) -> None:
        self._database = database
        self._clock = clock
        self._page_size = page_size
        self._purge_at = 0

    def get(self, key: Key) -> Item | None:
        with self._database.reading() as connection:
            values = self._read(connection, key)
        return None if values is None else Item(key, values)

    def get_many(self, keys: Sequence[Key], *, may_lag: bool = False) -> Sequence[Item]:  # noqa: ARG002
        with self._database.reading() as connection:
            found = [(key, self._read(connection, key)) for key in keys]
        return [Item(key, values) for key, values in found if values is not None]

    def query(
        self,
        partition: str,
        *,
        begins: str = "",
        span: tuple[str, str] | None = None,
        after: str | None = None,
        limit: int | None = None,
        may_lag: bool = False,  # noqa: ARG002
    ) -> Page[Item]:
        first, last = span or (begins, begins + _AFTER_ALL)
        size = min(limit or self._page_size, self._page_size)
        with self._database.reading() as connection:
            # One row more than the page shows whether there is another page.
            rows = connection.execute(QUERY, (partition, after or "", first, last, size + 1)).fetchall()
        page, now = rows[:size], self._clock.now()
        items = [Item(Key(partition, sort), values_of(content)) for sort, content in page]
        live = [item for item in items if not has_expired(item.values, now)]
        return Page(live, page[-1]["sort"] if len(rows) > size else None)

    def put(self, key: Key, values: Values, condition: Condition = ()) -> Written:
        return self._write(key, condition, lambda _: values)

    def put_many(self, items: Sequence[Item]) -> None:
        with self._database.transaction():
            for item in items:
                self.put(*item)

    def update(self, key: Key, change: Change, condition: Condition = ()) -> Written:
        return self._write(key, condition, lambda values: applied(change, values or {}))

    def update_many(self, updates: Sequence[Update]) -> Sequence[bool]:
        with self._database.transaction():
            return [self.update(*update).done for update in updates]

    def count(self, key: Key, numbers: Mapping[str, int], most: Mapping[str, int], expires_at: int) -> None:
        """Add to the numbers of an item, and keep the largest of others. This costs a third of an update."""
        with self._database.statement() as connection:
            self._purge(connection)
            values = (*key, expires_at, *numbers.values(), *most.values())
            connection.execute(_counting(tuple(numbers), tuple(most)), values)

    def delete(self, key: Key) -> None:
        with self._database.statement() as connection:
            connection.execute(_DELETE, key)

    def delete_many(self, keys: Sequence[Key]) -> None:
        runs = [(run_id_of(key),) for key in keys if may_be_record(key.partition)]
        with self._database.transaction() as connection:
            connection.executemany(_DELETE, keys)
            connection.executemany("DELETE FROM runs WHERE run_id = ?", runs)

    def scan(self, limit: int, after: Key | None = None, only: Sequence[str] = ()) -> Scanned:  # noqa: ARG002
        """Return a page of the items, and then of the records, each as the item that it is on AWS."""
        of_runs = after is not None and may_be_record(after.partition)
        with self._database.reading() as connection:
            found = [] if of_runs else list(_scanned_items(connection, limit + 1, after))
            if len(found) <= limit:
                last = run_id_of(after) if of_runs and after is not None else ""
                found += _scanned_runs(connection, limit + 1 - len(found), last)
        page = found[:limit]
        return Scanned(page, page[-1].key if len(found) > limit else None)

    def about(self) -> int:
        query = "SELECT (SELECT count(*) FROM items) + (SELECT count(*) FROM runs)"
        with self._database.reading() as connection:
            return int(connection.execute(query).fetchone()[0])

    def _write(self, key: Key, condition: Condition, change: Callable[[Values | None], Values]) -> Written:
        with self._database.statement() as connection:
            before = self._read(connection, key)
            if not holds(condition, before):
                return Written(done=False, item=None if before is None else Item(key, before))
            after = change(before)
            if after != before:
                self._store(connection, key, after)
        return Written(done=True, item=Item(key, after))

    def _read(self, connection: sqlite3.Connection, key: Key) -> dict[str, Value] | None:
        row = connection.execute(_GET, key).fetchone()
        values = None if row is None else values_of(row[0])
        return None if values is None or has_expired(values, self._clock.now()) else values

    def _store(self, connection: sqlite3.Connection, key: Key, values: Values) -> None:
        if EXPIRES_AT in values:
            self._purge(connection)
        connection.execute(_PUT, row_of(key, values))

    def _purge(self, connection: sqlite3.Connection) -> None:
        if (now := self._clock.now()) >= self._purge_at:
            connection.execute(_PURGE, (now // 1000, PURGED_AT_ONCE))
            self._purge_at = now + PURGE_MS


def row_of(key: Key, values: Values) -> tuple[Value | None, ...]:
    """Return the row of an item. An item with a slot and a time is in the due index, as it is on AWS."""
    due = values.get(DUE.partition_key), values.get(DUE.sort_key)
    return *key, _encode(values), values.get(EXPIRES_AT), *due


@lru_cache(maxsize=1024)
def _counting(numbers: tuple[str, ...], most: tuple[str, ...]) -> str:
    """Return the statement that adds to numbers of these names, and keeps the largest of the others."""
    marks = {name: f"?{place}" for place, name in enumerate((*numbers, *most), 4)}
    first = ", ".join(f"'{name}', {mark}" for name, mark in marks.items())
    found = {name: f"json_extract(content, '$.{name}')" for name in marks}
    sums = [f"'$.{name}', coalesce({found[name]}, 0) + {marks[name]}" for name in numbers]
    sums += [f"'$.{name}', max(coalesce({found[name]}, {marks[name]}), {marks[name]})" for name in most]
    return (
        "INSERT INTO items (partition, sort, content, expires_at)"  # noqa: S608 - names only
        f" VALUES (?1, ?2, json_object('{EXPIRES_AT}', ?3, {first}), ?3) ON CONFLICT (partition, sort) DO UPDATE SET"
        f" content = CASE WHEN json_valid(content) THEN json_set(content, {', '.join(sums)}) ELSE excluded.content END"
    )


def values_of(content: str) -> dict[str, Value]:
    """Return the values of an item. One whose content is damaged has none."""
    try:
        found = json.loads(content)
        return {name: frozenset(value) if type(value) is list else value for name, value in found.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def _scanned_items(connection: sqlite3.Connection, limit: int, after: Key | None) -> Iterator[Item]:
    query = (
        "SELECT partition, sort, content FROM items WHERE (partition, sort) > (?, ?) ORDER BY partition, sort LIMIT ?"
    )
    for partition, sort, content in connection.execute(query, (*(after or Key("", "")), limit)):
        yield Item(Key(partition, sort), values_of(content))


def _scanned_runs(connection: sqlite3.Connection, limit: int, after: str) -> Iterator[Item]:
    for row in connection.execute("SELECT * FROM runs WHERE run_id > ? ORDER BY run_id LIMIT ?", (after, limit)):
        yield Item(run_key(row["run_id"]), dict(_record_values(dict(zip(row.keys(), row, strict=True)))))


def _record_values(row: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    for name, value in row.items():
        if name not in ("run_id", "job_id") and value is not None:
            yield name, _set_of(value) if name in SETS else value


def _set_of(text: Any) -> Value:
    try:
        return frozenset(json.loads(text))
    except (ValueError, TypeError):
        return str(text)  # whoever reads the record names the fault
