"""Conversion between records and items of the table."""

from collections.abc import Mapping
from typing import Any, Final

from onthedot.codec import decode, encode
from onthedot.domain.runs.records import Kind, Priority, Record
from onthedot.engines.aws.dynamodb.keys import job_id_of, run_id_of, run_key
from onthedot.engines.aws.dynamodb.moves import from_item, to_attribute
from onthedot.ports import SlotEntry

_IMPLIED_BY_KEY: Final = ("run_id", "job_id")


def to_item(run: Record) -> dict[str, Any]:
    record = {field: value for field, value in encode(run).items() if field not in _IMPLIED_BY_KEY}
    return {**run_key(run.run_id), **{field: to_attribute(value) for field, value in record.items()}}


def to_run(item: Mapping[str, Any]) -> Record:
    return decode({**from_item(item), "run_id": run_id_of(item), "job_id": job_id_of(item)})


def to_entry(item: Mapping[str, Any]) -> SlotEntry:
    """Read an item of the due index, which has only the projected attributes."""
    record = from_item(item)
    return SlotEntry(
        run_id=run_id_of(item),
        slot=record["slot"],
        fire_at=int(record["fire_at"]),
        generation=record["generation"],
        tenant=record["tenant"],
        priority=Priority(record["priority"]),
        pool=record["pool"],
        kind=Kind(record["kind"]),
        claim_token=record.get("claim_token"),
    )
