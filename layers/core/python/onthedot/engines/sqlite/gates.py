"""Gates in SQLite: their limits in one table, and the pages of their states in another."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Final

from onthedot import registry_codec
from onthedot.domain.gates.limits import GateLimits
from onthedot.domain.gates.names import GateId
from onthedot.domain.gates.state import GateChange, GateState, Holder
from onthedot.domain.runs.records import Priority
from onthedot.engines.gate_limits import gate_limits_or_stop
from onthedot.engines.gate_states import expires_at
from onthedot.engines.sqlite.database import Database
from onthedot.ports import Clock, GateAnswer, Page

_PURGED_AT_ONCE: Final = 100
_SETS: Final = frozenset({"holders", "priorities"})
_COLUMNS: Final = tuple(field.name for field in fields(GateState))
_STATE: Final = ", ".join(_COLUMNS)
_READ: Final = f"SELECT {_STATE} FROM gate_states WHERE gate = ? AND page = ?"  # noqa: S608 - field names only
_WRITE: Final = (
    f"INSERT OR REPLACE INTO gate_states (gate, page, expires_at, {_STATE})"  # noqa: S608 - field names only
    f" VALUES (?, ?, ?, {', '.join('?' * len(_COLUMNS))})"
)
_PURGE: Final = (
    "DELETE FROM gate_states WHERE (gate, page) IN (SELECT gate, page FROM gate_states WHERE expires_at <= ? LIMIT ?)"
)


class SqliteGateStore:
    """A `GateStore`. Every write reads, decides and stores in one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def find(self, tenant: str, name: str) -> GateLimits | None:
        query = "SELECT limits FROM gates WHERE tenant = ? AND name = ?"
        with self._database.reading() as connection:
            row = connection.execute(query, (tenant, name)).fetchone()
        return None if row is None else gate_limits_or_stop(tenant, name, row["limits"])

    def put(self, tenant: str, name: str, limits: GateLimits | None) -> None:
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM gates WHERE tenant = ? AND name = ?", (tenant, name))
            if limits is not None:
                row = (tenant, name, registry_codec.limits_text(limits))
                connection.execute("INSERT INTO gates VALUES (?, ?, ?)", row)

    def names(self, tenant: str, limit: int, cursor: str | None = None) -> Page[tuple[str, GateLimits]]:
        query = "SELECT name, limits FROM gates WHERE tenant = ? AND name > ? ORDER BY name LIMIT ?"
        with self._database.reading() as connection:
            rows = connection.execute(query, (tenant, cursor or "", limit + 1)).fetchall()
        gates = [(name, gate_limits_or_stop(tenant, name, text)) for name, text in rows[:limit]]
        return Page(gates, gates[-1][0] if len(rows) > limit else None)

    def read(self, gate: GateId) -> GateState:
        with self._database.reading() as connection:
            return _read(connection, gate, 0)

    def pages(self, gate: GateId) -> Sequence[frozenset[Holder]]:
        query = "SELECT page, holders FROM gate_states WHERE gate = ?"
        with self._database.reading() as connection:
            pages = {row["page"]: _holders(row["holders"]) for row in connection.execute(query, (gate.text,))}
        return [pages.get(page, frozenset()) for page in range(max(pages, default=0) + 1)]

    def take(
        self, gate: GateId, page: int, holder: Holder, *, room: int, newcomer: bool, capacity: int | None
    ) -> GateAnswer:
        with self._database.transaction() as connection:
            connection.execute(_PURGE, (self._clock.now() // 1000, _PURGED_AT_ONCE))
            state = _read(connection, gate, page)
            if holder in state.holders:
                return GateAnswer(done=True, state=state)
            fits = page != 0 or (state.capacity == capacity and not (newcomer and state.is_flagged))
            if not fits or len(state.holders) >= room:
                return GateAnswer(done=False, state=state)
            state = replace(state, holders=state.holders | {holder})
            self._write(connection, gate, page, state)
        return GateAnswer(done=True, state=state)

    def give_back(self, gate: GateId, page: int, holder: Holder) -> GateState:
        with self._database.transaction() as connection:
            before = _read(connection, gate, page)
            state = replace(before, holders=before.holders - {holder})
            if state != before:
                self._write(connection, gate, page, state)
        return state

    def change(self, gate: GateId, change: GateChange) -> GateAnswer:
        with self._database.transaction() as connection:
            before = _read(connection, gate, 0)
            state = _changed(before, change)
            if state is None:
                return GateAnswer(done=False, state=before)
            self._write(connection, gate, 0, state)
        return GateAnswer(done=True, state=state)

    def _write(self, connection: sqlite3.Connection, gate: GateId, page: int, state: GateState) -> None:
        values = [_stored(name, getattr(state, name)) for name in _COLUMNS]
        connection.execute(_WRITE, (gate.text, page, expires_at(self._clock.now()), *values))


def _changed(state: GateState, change: GateChange) -> GateState | None:
    """Return the state after the change, or None when the state is not as the change expects."""
    values: dict[str, Any] = {name: getattr(state, name) for name in _COLUMNS}
    holds = (
        all(values[name] == value for name, value in change.equals.items())
        and all(values[name] is not None and values[name] > bound for name, bound in change.above.items())
        and all(values[name] is not None for name in change.increments)
    )
    if not holds:
        return None
    kept: frozenset[Priority] = frozenset() if change.forget_priorities else state.priorities
    added = {name: values[name] + number for name, number in change.increments.items()}
    return GateState(**{**values, **change.sets, **added, "priorities": kept | change.priorities})


def _read(connection: sqlite3.Connection, gate: GateId, page: int) -> GateState:
    row = connection.execute(_READ, (gate.text, page)).fetchone()
    if row is None:
        return GateState()
    plain = {name: row[name] for name in _COLUMNS if name not in _SETS}
    priorities = frozenset(map(Priority, json.loads(row["priorities"])))
    return GateState(**plain, holders=_holders(row["holders"]), priorities=priorities)


def _holders(text: str) -> frozenset[Holder]:
    return frozenset(map(Holder.read, json.loads(text)))


def _stored(name: str, value: Any) -> Any:
    if name == "holders":
        return json.dumps(sorted(holder.text for holder in value))
    return json.dumps(sorted(value)) if name == "priorities" else value
