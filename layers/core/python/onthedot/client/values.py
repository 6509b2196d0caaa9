"""The values that the API's answers are read into. `answers` has the fields of each, made from the API's own types.

Fields that this version does not know are ignored. Times are aware datetimes in UTC. A field that does not apply is
None or empty.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NamedTuple,
    NoReturn,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
)

if TYPE_CHECKING:
    from dataclasses import Field

Answer = TypeVar("Answer", bound="Value")
Read = Callable[[Any], Any]


class Status(StrEnum):
    """The status of a job or an execution."""

    WAITING = "WAITING"
    PENDING = "PENDING"
    DISPATCHED = "DISPATCHED"
    RUNNING = "RUNNING"
    RETRYING = "RETRYING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    CANCELLED = "CANCELLED"
    DELETED = "DELETED"
    PAUSED = "PAUSED"
    ACTIVE = "ACTIVE"
    COMPLETED = "COMPLETED"


ENDED = frozenset({Status.SUCCEEDED, Status.FAILED, Status.SKIPPED, Status.CANCELLED, Status.DELETED, Status.COMPLETED})


class _AsDataclass:
    """The fields of a value for `dataclasses.asdict`, `fields` and `replace`, which few programs call."""

    def __get__(self, _: object, kind: "type[Value]") -> "dict[str, Field[Any]]":
        from dataclasses import dataclass, field  # noqa: PLC0415 - as above

        shape = _shape(kind)
        fresh = {name: field(default_factory=make) for name, make in shape.fresh.items()}
        body = {"__annotations__": dict.fromkeys(shape.names, Any), **shape.defaults, **fresh}
        made: Any = dataclass(kw_only=True)(type(kind.__name__, (), body))
        return dict(made.__dataclass_fields__)


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Value:
    """An answer of the API, or a part of one. It behaves as a frozen dataclass with keywords only.

    A dataclass takes half a millisecond to define, and `import onthedot` defines some forty values.
    """

    _keys: ClassVar[Mapping[str, str]] = {}
    """The API's names of fields that have another name here."""
    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    else:
        __dataclass_fields__ = _AsDataclass()

    def __init__(self, **given: Any) -> None:
        shape, values = _shape(type(self)), self.__dict__
        values.update(shape.defaults)
        values.update(given)
        for name, make in shape.fresh.items():
            if name not in given:
                values[name] = make()
        if values.keys() != shape.names.keys():
            lacking, unknown = [*(shape.names.keys() - values.keys())], [*(values.keys() - shape.names.keys())]
            raise TypeError(f"{type(self).__name__} lacks {lacking}" if lacking else f"it has no fields {unknown}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(tuple(self.__dict__[name] for name in _shape(type(self)).names))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={self.__dict__[name]!r}" for name in _shape(type(self)).names)
        return f"{type(self).__name__}({shown})"

    def __setattr__(self, name: str, *_: object) -> NoReturn:
        from dataclasses import FrozenInstanceError  # noqa: PLC0415 - for a mistake only

        raise FrozenInstanceError(f"cannot assign to or delete field {name!r}")

    __delattr__ = __setattr__


class _Shape(NamedTuple):
    """What is known of a kind of value when the first one is made."""

    names: dict[str, Any]
    """The fields with their types, in order."""
    defaults: dict[str, Any]
    fresh: Mapping[str, Callable[[], Any]]
    """Fields whose default is an object of their own."""
    readers: list[tuple[str, str, Read | None]]
    """For each field its name, the API's name, and how its value is read. None: it is as it arrives."""


_SHAPES: dict[type, _Shape] = {}


def _shape(kind: type[Value]) -> _Shape:
    if kind not in _SHAPES:
        names: dict[str, Any] = {}
        for base in reversed(kind.__mro__[: kind.__mro__.index(Value)]):
            names |= base.__annotations__
        given = {name: getattr(kind, name) for name in names if hasattr(kind, name)}
        fresh = {name: type(default) for name, default in given.items() if isinstance(default, list | dict | Value)}
        defaults = {name: default for name, default in given.items() if name not in fresh}
        readers = [(name, kind._keys.get(name, name), _reader(hint)) for name, hint in names.items()]
        _SHAPES[kind] = _Shape(names, defaults, fresh, readers)
    return _SHAPES[kind]


def _reader(hint: Any) -> Read | None:
    """Return how a value of this type is read. A type with None is read as the other one: null is the default."""
    if get_origin(hint) is list:
        read_one = _reader(get_args(hint)[0])
        return None if read_one is None else lambda found: [read_one(one) for one in found]
    for one in get_args(hint) or (hint,):
        if one is datetime:
            return datetime.fromisoformat
        if one is Status:
            return read_status
        if isinstance(one, type) and issubclass(one, Value):
            return partial(read_answer, one)
    return None


def read_answer(kind: type[Answer], document: Any) -> Answer:
    """Return a document of the API as this kind of value. Raise ValueError when it is not such a document."""
    if not isinstance(document, Mapping):
        raise ValueError(f"the API did not answer with an object but with {type(document).__name__}")  # noqa: TRY004
    values = {}
    for name, key, read in _shape(kind).readers:
        found = document.get(key)
        if found is not None:
            values[name] = found if read is None else read(found)
    try:
        return kind(**values)
    except TypeError as error:
        raise ValueError(f"the API's answer is incomplete: {error}") from error


def read_status(text: str) -> Status | str:
    """Return a status. One that this version does not know stays a text."""
    return Status(text) if text in Status.__members__ else text
