"""Encode records as flat maps of text, numbers, booleans and sets of text: the one shape that both engines store."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from onthedot.core.errors import Unreadable, UnreadableRecord
from onthedot.core.json_text import to_text
from onthedot.core.progress import ProgressReport
from onthedot.core.records import FIELDS, INTEGERS, REQUIRED, SETS, Attempt, Definition, Kind, Record
from onthedot.schedules import schedule as recurrences
from onthedot.schedules.schedule import Recurrence
from onthedot.targets import types as targets
from onthedot.targets.types import HttpTarget

FORMAT: Final = 1
"""The only format of records that this version reads. It is not stored: a record with a stored format is of a newer
version. Every move requires that there is none."""
_SHORT: Final = 2_000
MOST_WHY: Final = 300
_STORED_AS: Final = {"fire_time": "nominal_at", "due_at": "fire_at"}
"""The stored names of fields that had these names first. Older tables and running older versions know them."""
Scalar = str | int | bool
Stored = Scalar | frozenset[str]

_HTTP: Final[Mapping[str, Any]] = {"method": "POST", "headers": {}}
_EMPTY: Final[tuple[Any, ...]] = ((), frozenset())


def stored_name(field: str) -> str:
    return _STORED_AS.get(field, field)


def encode_field(name: str, value: Any) -> Stored:
    encoder = _ENCODERS.get(name)
    return value if encoder is None else encoder(value)


def decode_field(name: str, stored: Any) -> Any:
    decoder = _DECODERS.get(name)
    return stored if decoder is None else decoder(stored)


def decoder_of(name: str) -> Callable[[Any], Any] | None:
    return _DECODERS.get(name)


def encode(run: Record) -> dict[str, Stored]:
    """Return the whole record as it is stored. Fields without a value are left out."""
    return {
        name: value if encoder is None else encoder(value)
        for (name, encoder), value in zip(_FIELD_ENCODERS, _VALUES(run), strict=True)
        if value is not None and (value or value not in _EMPTY)
    }


def decode(record: Mapping[str, Any]) -> Record:
    """Return the record that `encode` encoded, whatever other names there are. Raise UnreadableRecord."""
    try:
        refuse_newer(record)
        values = {
            name: _DECODERS[name](stored) if name in _DECODERS else stored
            for key, stored in record.items()
            if stored is not None and (name := _FIELD_OF.get(key))
        }
        values.setdefault("definition", None)
        return _whole(Record(**values))
    except Exception as error:  # a damaged value can raise anything, and must not stop the reader of other records
        raise UnreadableRecord(unreadable(record, error)) from error


def _whole(run: Record) -> Record:
    if run.kind is Kind.RECURRING and run.recurrence is None:
        raise ValueError("it is a recurring job without a schedule")
    return run


def refuse_newer(record: Mapping[str, Any]) -> None:
    if record.get("format") is not None:
        raise ValueError(f"it has format {record['format']}, and this version knows formats up to {FORMAT}")


def unreadable(record: Mapping[str, Any], error: Exception) -> Unreadable:
    facts = {name: str(record[name]) for name in ("tenant", "kind", "status", "slot") if record.get(name) is not None}
    since = str(record.get("aside_since"))
    why = next(_faults(record), None) or f"{type(error).__name__}: {error}"
    return Unreadable(
        str(record.get("run_id")), why[:MOST_WHY], **facts, aside_since=int(since) if since.isdecimal() else None
    )


def _faults(record: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"it has no {key}" for key in map(stored_name, _REQUIRED) if record.get(key) is None)
    for name, decoder in _DECODERS.items():
        key = stored_name(name)
        if record.get(key) is not None:
            try:
                decoder(record[key])
            except Exception as error:  # noqa: BLE001 - as in `decode`
                yield f"its {key} cannot be read: {type(error).__name__}: {error}"


def _definition(definition: Definition) -> dict[str, Any]:
    """Return the definition without the values that equal the defaults: a larger record makes each move cost more."""
    values = {name: getattr(definition, name) for name in _DEFINED}
    short = {name: _in_json(value) for name, value in values.items() if value != _DEFINED[name]}
    return {**_target(definition.target), **short}


def _in_json(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return dict(value) if isinstance(value, Mapping) else value


def _target(target: targets.Target) -> dict[str, Any]:
    """Return the target. The fields of an HTTP target, the usual one, are not nested, which saves bytes."""
    if not isinstance(target, HttpTarget):
        return {"target": targets.to_json(target)}
    whole = {"url": target.url, "method": target.method, "headers": dict(target.headers)}
    return {field: value for field, value in whole.items() if field == "url" or value != _HTTP[field]}


def _decode_definition(text: str) -> Definition:
    """Return the definition. A short one is remembered, so do not change its values: each step of a run decodes it."""
    return _remembered_definition(text) if len(text) <= _SHORT else _decoded_definition(text)


def _decoded_definition(text: str) -> Definition:
    short = json.loads(text)
    target: targets.Target
    if "target" in short:
        target = targets.from_json(short.pop("target"))
    else:
        target = HttpTarget(short.pop("url"), short.pop("method", "POST"), short.pop("headers", {}))
    objects = {name: _object(kind, short[name]) for name, kind in _OBJECTS.items() if name in short}
    return Definition(target=target, **{**_known(Definition, short), **objects})


_remembered_definition: Final = lru_cache(maxsize=1024)(_decoded_definition)


def _object(kind: type, stored: Mapping[str, Any]) -> Any:
    values = _known(kind, stored)
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def _known(kind: type, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values whose names the type has. A newer version may have written more."""
    names = kind.__slots__  # type: ignore[attr-defined]
    return {name: value for name, value in stored.items() if name in names}


def _attempt(attempt: Attempt) -> list[Any]:
    """Return the values without the empty ones at the end, which most attempts have."""
    values = list(_ATTEMPT_VALUES(attempt))
    while values[-1] is None:
        values.pop()
    return values


def _decode_progress(text: str) -> ProgressReport:
    at, fraction, words = json.loads(text)[:3]
    return ProgressReport(fraction, words, at)


# Many jobs share one schedule, and decoding it is the most expensive part of a record.
@lru_cache(maxsize=4096)
def _decode_recurrence(text: str) -> Recurrence:
    return recurrences.recurrence_from_json(json.loads(text))


_DEFINED: Final = {
    one.name: one.default if one.default_factory is dataclasses.MISSING else one.default_factory()
    for one in dataclasses.fields(Definition)
    if one.name != "target"
}
_OBJECTS: Final[Mapping[str, type]] = {
    one.name: one.type
    for one in dataclasses.fields(Definition)
    if isinstance(one.type, type) and dataclasses.is_dataclass(one.type)
}
_WORDS: Final[Mapping[str, type[StrEnum]]] = {
    one.name: one.type
    for one in dataclasses.fields(Record)
    if isinstance(one.type, type) and issubclass(one.type, StrEnum)
}
_LISTS: Final = tuple(one.name for one in dataclasses.fields(Record) if one.type == tuple[str, ...])
_FIELD_OF: Final = {stored_name(name): name for name in FIELDS}
_ATTEMPT_VALUES: Final = attrgetter(*Attempt.__slots__)
_REQUIRED: Final = tuple(name for name in FIELDS if name in REQUIRED and name != "definition")
_ENCODERS: Final[Mapping[str, Callable[[Any], Stored]]] = {
    "definition": lambda value: to_text(_definition(value)),
    "recurrence": lambda value: to_text(recurrences.recurrence_to_json(value)),
    **dict.fromkeys(_LISTS, lambda value: to_text(list(value))),
    "attempts": lambda value: to_text([_attempt(attempt) for attempt in value]),
    "progress": lambda report: to_text([report.at, report.fraction, report.text]),
    **dict.fromkeys(_WORDS, str),
}
_FIELD_ENCODERS: Final = tuple((stored_name(name), _ENCODERS.get(name)) for name in FIELDS)
_VALUES: Final = attrgetter(*FIELDS)
_DECODERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(INTEGERS, int),
    "definition": _decode_definition,
    "recurrence": _decode_recurrence,
    "attempts": lambda text: tuple(Attempt(*values[: len(Attempt.__slots__)]) for values in json.loads(text)),
    "progress": _decode_progress,
    **dict.fromkeys(_LISTS, lambda text: tuple(json.loads(text))),
    **dict.fromkeys(SETS, frozenset),
    **_WORDS,
}
