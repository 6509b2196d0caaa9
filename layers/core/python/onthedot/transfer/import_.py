"""Store the entries of an export in this stage, each one if it is not there yet. Every page may be repeated."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from onthedot.core import codec, patience
from onthedot.core.errors import StageConflict, Unavailable, UnreadableRecord
from onthedot.core.ports import Deadline, Moved, Refused, Undecided
from onthedot.core.records import TERMINAL, Record
from onthedot.core.schema import BLOBS
from onthedot.core.slots import DECISION_MS
from onthedot.engine import Engine
from onthedot.events import handle
from onthedot.gates.limit_store import DAMAGED
from onthedot.transfer import entries as imported
from onthedot.transfer.change_stage import settles_in_ms
from onthedot.transfer.entries import BLOB, RECORD, Entry
from onthedot.transfer.export import transfer_of
from onthedot.transfer.kinds import KINDS, BadEntry, Store, from_json
from onthedot.transfer.stage_state import StageMode

_DAMAGED: Final = (*DAMAGED, binascii.Error)
RECORDS_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class Refusal:
    kind: str
    id: str
    why: str


@dataclass(slots=True)
class Imported:
    created: int = 0
    present: int = 0
    refused: list[Refusal] = field(default_factory=list)
    unknown_pools: set[str] = field(default_factory=set)
    """Pools of imported runs that this stage does not have. Such runs get another pool, or wait for one."""


def import_page(engine: Engine, freeze_id: str, lines: Sequence[Any], *, dry_run: bool) -> Imported:
    """Store a page of an export. With `dry_run` store nothing, and return what would happen.

    Raise StageConflict unless the stage imports this freeze. Raise Unavailable: then a part of the page may be stored.
    """
    if not dry_run:
        _check_stage(engine, freeze_id)
    result = Imported()
    entries = _read(lines, result)
    for entry in entries:
        if entry.kind != RECORD:
            _store_setting(engine, entry, result, dry_run=dry_run)
    records = _records(entries, result)
    for first in range(0, len(records), RECORDS_AT_ONCE):
        _store_records(engine, records[first : first + RECORDS_AT_ONCE], result, dry_run=dry_run)
    return result


def _check_stage(engine: Engine, freeze_id: str) -> None:
    state = engine.stage.fresh()
    if state.mode is not StageMode.IMPORTING or state.freeze_id != freeze_id:
        raise StageConflict(f"the stage is not importing {freeze_id}; begin the import first")
    if left := settles_in_ms(engine, state):
        raise Unavailable(f"the import can begin in {left} ms, when all processes know of it")


def _read(lines: Sequence[Any], result: Imported) -> list[Entry]:
    entries = []
    for line in lines:
        try:
            entries.append(from_json(line))
        except ValueError as error:
            shown: Mapping[str, Any] = line if isinstance(line, dict) else {}
            result.refused.append(Refusal(str(shown.get("kind")), str(shown.get("id")), str(error)))
    return entries


def _blob(engine: Engine, entry: Entry) -> Store | None:
    key, blob = entry.id, base64.b64decode(entry.content["base64"], validate=True)
    if not key.startswith(BLOBS):
        raise BadEntry("its id is not the key of a payload or a result")
    return None if engine.blobs.get(key) == blob else partial(engine.blobs.put, key, blob)


def _store_setting(engine: Engine, entry: Entry, result: Imported, *, dry_run: bool) -> None:
    try:
        store = _blob(engine, entry) if entry.kind == BLOB else KINDS[entry.kind].store(engine, entry.content)
        is_new = store is not None and (dry_run or store() is not False)
    except BadEntry as error:
        result.refused.append(Refusal(entry.kind, entry.id, str(error)))
        return
    except _DAMAGED as error:
        why = f"its content cannot be read: {type(error).__name__}: {error}"[:300]
        result.refused.append(Refusal(entry.kind, entry.id, why))
        return
    result.created += is_new
    result.present += not is_new


def _records(entries: Sequence[Entry], result: Imported) -> list[Record]:
    """Return the records that can be read, each id once."""
    found: dict[str, Record] = {}
    for entry in entries:
        if entry.kind != RECORD:
            continue
        try:
            record = codec.decode(entry.content)
        except UnreadableRecord as error:
            result.refused.append(Refusal(entry.kind, entry.id, f"it cannot be read: {error.record.why}"))
            continue
        if record.run_id != entry.id or record.run_id in found:
            result.refused.append(Refusal(entry.kind, entry.id, "its id is not that of its content, or occurs twice"))
            continue
        found[record.run_id] = record
    return list(found.values())


def _store_records(engine: Engine, records: Sequence[Record], result: Imported, *, dry_run: bool) -> None:
    now = engine.clock.now()
    result.unknown_pools |= {r.pool for r in records if engine.deployment.pools.get(r.pool) is None}
    placed = [imported.as_imported(record, now, engine.deployment) for record in records]
    if dry_run:
        _compare(engine, placed, result)
        return
    for record in placed:
        if record.status not in TERMINAL:
            handle.enter(engine, record)
    deadline = Deadline.after(now, DECISION_MS)
    for record, outcome in zip(placed, transfer_of(engine).store.create_many(placed, deadline), strict=True):
        _count(record, outcome, result)


def _count(record: Record, outcome: Moved | Refused | Undecided, result: Imported) -> None:
    if isinstance(outcome, Moved):
        result.created += 1
    elif isinstance(outcome, Refused):
        _count_known(record, outcome.current, result)
    elif outcome.permanent:
        result.refused.append(Refusal(RECORD, record.run_id, f"the store refuses it: {outcome.why}"))
    else:
        raise Unavailable(f"{record.run_id}: {outcome.why}")


def _count_known(record: Record, current: Record | None, result: Imported) -> None:
    """Count a record whose id is taken: by itself, imported before, or by another record."""
    if current is not None and _identity(current) == _identity(record):
        result.present += 1
    else:
        result.refused.append(Refusal(RECORD, record.run_id, "another record of this stage has the id"))


def _compare(engine: Engine, records: Sequence[Record], result: Imported) -> None:
    deadline = Deadline.after(engine.clock.now(), patience.READ_MS)
    read = engine.store.get_many([record.run_id for record in records], deadline)
    if read.unread:
        raise Unavailable("not all records could be read in time")
    for record in records:
        if record.run_id in read.found or record.run_id in read.unreadable:
            _count_known(record, read.found.get(record.run_id), result)
        else:
            result.created += 1


def _identity(record: Record) -> tuple[Any, ...]:
    """Return the values that a record keeps for life. An imported record may have moved on since."""
    return record.tenant, record.kind, record.created_at, record.fingerprint
