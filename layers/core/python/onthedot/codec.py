"""Runs as flat records of text, numbers and booleans: the one shape that both engines store."""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Final

from onthedot.domain import recurrence as recurrences
from onthedot.domain.run import Attempt, Definition, HttpTarget, Kind, Priority, Record, RetryPolicy, Status

Scalar = str | int | bool

FIELDS: Final = tuple(field.name for field in dataclasses.fields(Record))
INTEGERS: Final = frozenset(field.name for field in dataclasses.fields(Record) if field.type in (int, int | None))
_DEFAULTS: Final[Mapping[str, Any]] = {
    "method": "POST",
    "headers": {},
    "payload": None,
    "payload_ref": None,
    "retry": dataclasses.asdict(RetryPolicy()),
    "timeout_seconds": 60,
    "name": None,
    "tags": {},
}


def encode_field(name: str, value: Any) -> Scalar:
    """One field's value as it is stored."""
    if name == "definition":
        return _dump(_definition(value))
    if name == "recurrence":
        return _dump(recurrences.to_json(value))
    if name == "attempts":
        return _dump([list(dataclasses.astuple(attempt)) for attempt in value])
    return str(value) if isinstance(value, str) else int(value)


def encode(run: Record) -> dict[str, Scalar]:
    """The whole run; fields without a value are left out."""
    values = ((name, getattr(run, name)) for name in FIELDS)
    return {name: encode_field(name, value) for name, value in values if value is not None and value != ()}


def decode(record: Mapping[str, Any]) -> Record:
    values = {name: _decode_field(name, record[name]) for name in FIELDS if record.get(name) is not None}
    values.setdefault("definition", None)
    return Record(**values)


def _decode_field(name: str, stored: Any) -> Any:
    if name in INTEGERS:
        return int(stored)
    decoder = _DECODERS.get(name)
    return stored if decoder is None else decoder(stored)


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _definition(definition: Definition) -> dict[str, Any]:
    """Without what equals the defaults, for every byte is paid for on each move."""
    whole = {
        "url": definition.target.url,
        "method": definition.target.method,
        "headers": dict(definition.target.headers),
        "payload": definition.payload,
        "payload_ref": definition.payload_ref,
        "retry": dataclasses.asdict(definition.retry),
        "timeout_seconds": definition.timeout_seconds,
        "name": definition.name,
        "tags": dict(definition.tags),
    }
    return {field: value for field, value in whole.items() if field == "url" or value != _DEFAULTS[field]}


def _decode_definition(text: str) -> Definition:
    short = json.loads(text)
    target = HttpTarget(short.pop("url"), short.pop("method", "POST"), short.pop("headers", {}))
    retry = RetryPolicy(**short.pop("retry", {}))
    return Definition(target=target, retry=retry, **short)


def _decode_attempts(text: str) -> tuple[Attempt, ...]:
    return tuple(Attempt(*values) for values in json.loads(text))


_DECODERS: Final[Mapping[str, Any]] = {
    "definition": _decode_definition,
    "attempts": _decode_attempts,
    "recurrence": lambda text: recurrences.from_json(json.loads(text)),
    "status": Status,
    "priority": Priority,
    "kind": Kind,
}
