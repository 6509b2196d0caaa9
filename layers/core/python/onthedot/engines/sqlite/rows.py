"""Records as rows of SQLite, and moves as statements. The texts of statements are cached by their shapes."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from onthedot.core.codec import Scalar, Stored, decode, decoder_of, encode, encode_field, stored_name, unreadable
from onthedot.core.errors import UnreadableRecord
from onthedot.core.moves import Move
from onthedot.core.ports import SlotEntry
from onthedot.core.records import FIELDS, SETS, Kind, Record, record_with
from onthedot.engines.entries import gate_entry, slot_entry

COLUMNS: Final = ", ".join(f'"{stored_name(name)}"' for name in FIELDS)
_ENTRY_FIELDS: Final = (
    *("run_id", "slot", "fire_at", "kind", "generation", "tenant", "priority", "pool", "claim_token", "gates"),
    *("start_by", "format", "status", "aside_since"),
)
ENTRY_COLUMNS: Final = ", ".join(f'"{name}"' for name in _ENTRY_FIELDS)


def insert_of(run: Record) -> tuple[str, tuple[Any, ...]]:
    """Return the INSERT of a record, with its values. It does nothing when the id is taken."""
    record = {field: _as_text(value) for field, value in encode(run).items()}
    return _insert(tuple(record)), tuple(record.values())


@lru_cache(maxsize=256)
def _insert(names: tuple[str, ...]) -> str:
    """Return the text of an INSERT. Records of one kind share it, so that it is prepared once."""
    columns = ", ".join(f'"{name}"' for name in names)
    marks = ", ".join("?" * len(names))
    return f"INSERT INTO runs ({columns}) VALUES ({marks}) ON CONFLICT (run_id) DO NOTHING"  # noqa: S608 - names only


def record_of(row: sqlite3.Row) -> Record:
    """Return the record of a row that was read with `COLUMNS`. Raise UnreadableRecord when this version cannot."""
    try:
        values = {
            name: value if read is None else read(value)
            for (name, read), value in zip(_READERS, row, strict=True)
            if value is not None
        }
        if "format" not in values and (values["kind"] is not Kind.RECURRING or "recurrence" in values):
            return record_with({"definition": None, **values})
    except Exception:  # noqa: BLE001, S110 - whatever is wrong with the row, the slow way below finds its fault
        pass
    return _slowly(row)


def entry_of(row: sqlite3.Row) -> SlotEntry:
    """Return the entry of a row that was read with `ENTRY_COLUMNS`. Raise UnreadableRecord."""
    if row["kind"] == Kind.GATE:
        return gate_entry(row["run_id"], row["slot"], row["fire_at"])
    return slot_entry(_plain(row))


def update_of(
    move: Move, sets: Mapping[str, frozenset[str]] | None = None, revision: int | None = None
) -> tuple[str, list[Any]]:
    """Return the conditional UPDATE of a move, with its values. `sets` has the new values of set fields.

    It returns the row. With the `revision` that the record must have, it does not: then the caller knows the record.
    """
    changes = {**move.changes, **sets} if sets else move.changes
    expect, counts = move.expect, move.counts
    shape = (tuple(changes), tuple(counts), len(expect.status), tuple(expect.equals), tuple(expect.at_most))
    values = [
        move.to.value,
        *[_stored(name, value) for name, value in changes.items()],
        *counts.values(),
        move.run_id,
        *[status.value for status in expect.status],
        *[_stored(name, value) for name, value in expect.equals.items()],
        *expect.at_most.values(),
    ]
    if revision is None:
        return _update(*shape)[0], values
    values.append(revision)
    return _update(*shape)[1], values


@lru_cache(maxsize=1024)
def _update(
    changes: tuple[str, ...],
    counts: tuple[str, ...],
    statuses: int,
    equals: tuple[str, ...],
    at_most: tuple[str, ...],
) -> tuple[str, str]:
    """Return the text of an UPDATE that returns the row, and of one that expects a revision instead.

    It compares as DynamoDB does: an expected None means that the field is absent, and an absent field fails every
    `at_most`.
    """
    written = ["status = ?", *(f'"{stored_name(name)}" = ?' for name in changes)]
    written += [f'"{name}" = coalesce("{name}", 0) + ?' for name in map(stored_name, counts)]
    expected = ["run_id = ?", f"status IN ({', '.join('?' * statuses)})"]
    expected += [f'"{stored_name(name)}" IS ?' for name in equals]
    expected += [f'"{stored_name(name)}" <= ?' for name in at_most]
    expected.append("format IS NULL")
    condition = " AND ".join(expected)
    statement = f"UPDATE runs SET {', '.join(written)} WHERE {condition}"  # noqa: S608 - names only
    return f"{statement} RETURNING {COLUMNS}", f"{statement} AND revision = ?"


def _stored(name: str, value: Any) -> Scalar | None:
    return None if value is None else _as_text(encode_field(name, value))


def _as_text(value: Stored | None) -> Scalar | None:
    """Return a set as JSON, and nothing for an empty one. Other values stay as they are."""
    if not isinstance(value, frozenset):
        return value
    return json.dumps(sorted(value)) if value else None


def _read_set(text: str) -> frozenset[str]:
    return frozenset(json.loads(text))


def _reader(name: str) -> Callable[[Any], Any] | None:
    return _read_set if name in SETS else decoder_of(name)


_READERS: Final = tuple((name, _reader(name)) for name in FIELDS)


def _slowly(row: sqlite3.Row) -> Record:
    """Return the record of a row, or find its first fault."""
    record = _plain(row)
    try:
        sets = {name: json.loads(record[name]) for name in SETS if record[name] is not None}
    except ValueError as error:
        raise UnreadableRecord(unreadable(record, error)) from error
    return decode({**record, **sets})


def _plain(row: sqlite3.Row) -> dict[str, Any]:
    return dict(zip(row.keys(), row, strict=True))
