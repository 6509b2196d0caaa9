"""A due index that lags: `read_slot` shows each write some seconds later, while reads by id are consistent."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from onthedot.core.clock import VirtualClock
from onthedot.core.ports import Page, SlotEntry
from onthedot.core.records import Kind
from onthedot.core.schema import DUE, GATE_PREFIX
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.store import SqliteRunStore
from tests.builders import World

_COLUMNS: Final = ("run_id", "job_id", DUE.partition_key, DUE.sort_key, *DUE.included)
_LISTED: Final = ", ".join(_COLUMNS)
_NEW: Final = ", ".join(f"NEW.{name}" for name in _COLUMNS)
_PLACES: Final = ", ".join("?" * len(_COLUMNS))
_SHOW_GATE: Final = (
    f"INSERT INTO items (partition, sort, content, slot, fire_at) VALUES ('{GATE_PREFIX}' || ?, '0', '{{}}', ?, ?)"
)


def random_lag(chance: random.Random) -> int:
    """Return the time until the index shows a write: mostly short, sometimes up to 20 s, seldom up to a minute."""
    longest = chance.choices((200, 20_000, 60_000), (80, 18, 2))[0]
    return chance.randrange(longest)


@dataclass
class LaggingIndex:
    """A copy of the due index of a world. Each write arrives here after its own lag.

    Triggers note every write, also writes that go past the store. The copy has only what the index projects, and the
    engine's own store reads it.
    """

    world: World
    chance: random.Random
    lag: Callable[[random.Random], int] = random_lag
    """Returns the milliseconds until the index shows a write."""
    page_size: int = 10
    _copy: Database = field(init=False)
    _store: SqliteRunStore = field(init=False)
    _shown: dict[str, int] = field(default_factory=dict)
    """By record or gate the number of the latest write that the copy shows: an older one does not undo it."""

    def __post_init__(self) -> None:
        clock = VirtualClock()
        self._copy = Database()
        self._store = SqliteRunStore(self._copy, clock, self.page_size)
        with self.world.database.transaction() as connection:
            connection.create_function("shown_at", 0, lambda: self.world.clock.now() + self.lag(self.chance))
            connection.execute(
                f"CREATE TABLE writes (number INTEGER PRIMARY KEY AUTOINCREMENT, shown_at INTEGER, {_LISTED})"
            )
            connection.execute("CREATE INDEX writes_by_time ON writes (shown_at)")
            for event in ("INSERT", "UPDATE"):
                connection.execute(
                    f"CREATE TRIGGER noted_{event} AFTER {event} ON runs BEGIN"
                    f" INSERT INTO writes (shown_at, {_LISTED}) VALUES (shown_at(), {_NEW}); END"
                )
                connection.execute(
                    f"CREATE TRIGGER noted_gate_{event} AFTER {event} ON items"
                    f" WHEN NEW.partition LIKE '{GATE_PREFIX}%' AND NEW.sort = '0' BEGIN"
                    " INSERT INTO writes (shown_at, run_id, kind, slot, fire_at)"
                    f" VALUES (shown_at(), substr(NEW.partition, {len(GATE_PREFIX) + 1}), 'gate', NEW.slot,"
                    " NEW.fire_at); END"
                )

    def read_slot(self, slot: str, cursor: str | None = None, limit: int | None = None) -> Page[SlotEntry]:
        """Return a page of the slot as the index shows it now."""
        self._catch_up()
        return self._store.read_slot(slot, cursor, limit)

    def close(self) -> None:
        self._copy.close()

    def _catch_up(self) -> None:
        with self.world.database.transaction() as connection:
            now = (self.world.clock.now(),)
            rows = connection.execute("SELECT * FROM writes WHERE shown_at <= ? ORDER BY number", now).fetchall()
            connection.execute("DELETE FROM writes WHERE shown_at <= ?", now)
        if rows:
            with self._copy.transaction() as copy:
                for row in rows:
                    self._show(copy, row)

    def _show(self, copy: Any, row: Any) -> None:
        if row["number"] < self._shown.get(row["run_id"], 0):
            return
        self._shown[row["run_id"]] = row["number"]
        if row["kind"] == Kind.GATE:
            copy.execute("DELETE FROM items WHERE partition = ?", (GATE_PREFIX + row["run_id"],))
            if row["slot"] is not None:
                copy.execute(_SHOW_GATE, (row["run_id"], row["slot"], row["fire_at"]))
            return
        copy.execute("DELETE FROM runs WHERE run_id = ?", (row["run_id"],))
        if row["slot"] is not None:
            copy.execute(
                f"INSERT INTO runs ({_LISTED}) VALUES ({_PLACES})",
                [row[name] for name in _COLUMNS],
            )


@contextmanager
def lagging(world: World, lag_ms: int) -> Iterator[World]:
    """Return the world with an index that shows each write after the same time."""
    index = LaggingIndex(world, random.Random(1), lambda _: lag_ms)
    store: Any = LaggingStore(world.store, index)
    yield replace(world, store=store)
    index.close()


@dataclass(frozen=True)
class LaggingStore:
    """A store that reads its slots from a lagging index."""

    inner: Any
    index: LaggingIndex

    def read_slot(self, slot: str, cursor: str | None = None, limit: int | None = None) -> Page[SlotEntry]:
        return self.index.read_slot(slot, cursor, limit)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)
