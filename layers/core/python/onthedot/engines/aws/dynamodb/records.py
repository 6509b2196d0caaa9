"""Conversion between records and items of the table."""

from collections.abc import Mapping
from typing import Any, Final

from onthedot.core.codec import decode, encode
from onthedot.core.ports import SlotEntry
from onthedot.core.records import Record
from onthedot.core.schema import LABEL, gate_of
from onthedot.engines.aws.dynamodb.keys import job_id_of, key_of, run_id_of, run_key
from onthedot.engines.aws.dynamodb.moves import from_item, to_attribute
from onthedot.engines.entries import gate_entry, label_of, slot_entry

_IMPLIED_BY_KEY: Final = ("run_id", "job_id")


def to_item(run: Record) -> dict[str, Any]:
    record = {field: value for field, value in encode(run).items() if field not in _IMPLIED_BY_KEY}
    if run.listed_under is not None and run.definition is not None and (label := label_of(run.definition)) is not None:
        record[LABEL] = label
    return {**run_key(run.run_id), **{field: to_attribute(value) for field, value in record.items()}}


def to_run(item: Mapping[str, Any]) -> Record:
    """Read a whole item. Raise UnreadableRecord when this version cannot read it."""
    return decode({**from_item(item), "run_id": run_id_of(item), "job_id": job_id_of(item)})


def to_entry(item: Mapping[str, Any]) -> SlotEntry:
    """Read an item of the due index, which has only the projected attributes. Raise UnreadableRecord."""
    record = from_item(item)
    gate = gate_of(key_of(item))
    if gate is not None:
        return gate_entry(gate, record["slot"], int(record["fire_at"]))
    record["run_id"] = run_id_of(item)
    return slot_entry(record)
