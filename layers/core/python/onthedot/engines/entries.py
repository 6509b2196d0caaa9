"""Read the entries of the due index, and the labels of the listing index, for both engines."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from onthedot.core import json_text
from onthedot.core.choices import Priority
from onthedot.core.codec import decode_field, refuse_newer, unreadable
from onthedot.core.errors import Unreadable, UnreadableRecord
from onthedot.core.gate_names import GateId
from onthedot.core.ports import SlotEntry
from onthedot.core.records import Definition, Kind

Stored = TypeVar("Stored")
Item = TypeVar("Item")


def slot_entry(record: Mapping[str, Any]) -> SlotEntry:
    """Return the entry. Raise UnreadableRecord when this version cannot read it."""
    try:
        refuse_newer(record)
        return SlotEntry(
            run_id=record["run_id"],
            slot=record["slot"],
            due_at=int(record["fire_at"]),
            generation=_text(record, "generation"),
            tenant=_text(record, "tenant"),
            priority=Priority(record["priority"]),
            pool=_text(record, "pool"),
            kind=Kind(record["kind"]),
            claim_token=record.get("claim_token"),
            gates=() if record.get("gates") is None else decode_field("gates", record["gates"]),
            start_by=None if record.get("start_by") is None else int(record["start_by"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableRecord(_entry_fault(record, error)) from error


def gate_entry(gate: str, slot: str, due_at: int) -> SlotEntry:
    """Return the entry of a flagged gate, from the gate's text. Raise UnreadableRecord."""
    try:
        tenant = GateId.read(gate).tenant
    except ValueError as error:
        raise UnreadableRecord(Unreadable(gate, f"it is not a gate: {error}", kind=Kind.GATE, slot=slot)) from error
    return SlotEntry(gate, slot, due_at, "", tenant, Priority.MEDIUM, "", Kind.GATE)


def read_each(stored: Iterable[Stored], read: Callable[[Stored], Item]) -> tuple[list[Item], list[Unreadable]]:
    """Read each stored value separately. Return the values that can be read, and the facts about the others."""
    items: list[Item] = []
    faulty: list[Unreadable] = []
    for one in stored:
        try:
            items.append(read(one))
        except UnreadableRecord as error:
            faulty.append(error.record)
    return items, faulty


def _text(record: Mapping[str, Any], name: str) -> str:
    if record[name] is None:
        raise ValueError(f"it has no {name}")
    if not isinstance(record[name], str):
        raise TypeError(f"its {name} is not text")  # no move that expects the text would ever be applied
    return str(record[name])


def _entry_fault(record: Mapping[str, Any], error: Exception) -> Unreadable:
    missing = f"it has no {error.args[0]}" if isinstance(error, KeyError) else str(error)
    found = unreadable(record, error)
    return Unreadable(found.run_id, missing, found.tenant, found.kind, slot=found.slot, aside_since=found.aside_since)


LONGEST_LABEL: Final = 300
"""The most characters of a label. A longer one would make each write of the job cost more."""


def label_of(definition: Definition) -> str | None:
    """Return the name and the tags as the index shows them. None: they are too long, and readers read the job."""
    whole = {"name": definition.name, "tags": dict(definition.tags)}
    label = json_text.to_text({name: value for name, value in whole.items() if value})
    return label if len(label) <= LONGEST_LABEL else None


def read_label(label: str) -> tuple[str | None, dict[str, str]]:
    """Return the name and the tags in a label. Raise ValueError, TypeError or AttributeError when it is not a label."""
    content = json.loads(label)
    return content.get("name"), {str(key): str(value) for key, value in content.get("tags", {}).items()}
