"""The forms that the value of a field can have: in JSON, and in code.

They know neither pydantic nor click, so that the API and the command line can both be derived from them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from onthedot.core.clock import format_instant

if TYPE_CHECKING:
    from onthedot.jobs.spec import Field


class Form:
    """A form. The value in code is that of JSON, unless a form says otherwise."""

    shown: Any = str
    """The type of the value in an answer."""

    def read(self, given: Any) -> Any:
        """Return the value in code of a value that has passed the checks."""
        return given

    def show(self, value: Any) -> Any:
        return value

    def stored(self, value: Any) -> Any:
        return value


class Text(Form):
    """A text of this many characters."""

    def __init__(self, most: int, least: int = 0) -> None:
        self.most, self.least = most, least


class Whole(Form):
    """A whole number."""

    shown = int

    def __init__(self, least: int, most: int | None = None) -> None:
        self.least, self.most = least, most


class Number(Form):
    """A number that may have a fraction."""

    shown = float

    def __init__(self, least: float, most: float | None = None) -> None:
        self.least, self.most = least, most


class Seconds(Whole):
    """A duration in whole seconds. On the command line it has a unit: 10m."""


class Duration(Number):
    """A duration in seconds, which may have a fraction."""


class Switch(Form):
    """true or false."""

    shown = bool


class Choice(Form):
    """One of a few words."""

    def __init__(self, kind: type[StrEnum]) -> None:
        self.kind = kind
        self.words = tuple(one.value for one in kind)

    def read(self, given: str) -> StrEnum:
        return self.kind(given)

    def show(self, value: StrEnum) -> str:
        return value.value


class Names(Form):
    """A list of texts. If their order means nothing, they are stored sorted."""

    shown = list[str]

    def __init__(self, most: int, *, in_order: bool = True) -> None:
        self.most, self.in_order = most, in_order

    def read(self, given: Sequence[str]) -> tuple[str, ...]:
        return tuple(given)

    def show(self, value: Sequence[str]) -> list[str]:
        return list(value)

    def stored(self, value: Sequence[str]) -> tuple[str, ...]:
        return tuple(value if self.in_order else sorted(value))


class Tags(Form):
    """Texts by key."""

    shown = dict[str, str]

    def __init__(self, most: int) -> None:
        self.most = most

    def show(self, value: Mapping[str, str]) -> dict[str, str]:
        return dict(value)


class Instant(Form):
    """A time: RFC 3339 with an offset or epoch seconds, in code epoch milliseconds."""

    def show(self, value: int) -> str:
        return format_instant(value)


class Json(Form):
    """Any JSON, or JSON whose type says what it may be."""

    def __init__(self, shown: Any = Any) -> None:
        self.shown = shown


class Parts(Form):
    """An object with known parts: in code a dataclass that has the same parts, with their defaults."""

    def __init__(self, kind: type[Any], name: str, about: str, *parts: "Field") -> None:
        self.kind, self.name, self.about = kind, name, about
        empty = kind()
        self.parts = tuple(part._replace(default=getattr(empty, part.name)) for part in parts)
        assert [part.name for part in parts] == [one.name for one in fields(kind)]

    def read(self, given: Mapping[str, Any]) -> Any:
        return self.kind(**given)

    def show(self, value: Any) -> dict[str, Any]:
        return {part.name: part.form.show(getattr(value, part.name)) for part in self.parts}
