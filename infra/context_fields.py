"""Context values with an inside: lists and objects, as JSON text from `-c key=value` or typed from `cdk.json`."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from context_values import BadContext

REQUIRED: Any = object()
"""The default of a field that has none."""


def listed(key: str, value: Any) -> list[Any]:
    """A list. Text that is no JSON is taken for what stands between its commas, so that simple lists need no quotes."""
    if isinstance(value, str):
        value = _parsed(key, value)
    if not isinstance(value, list):
        raise BadContext(key, value, "must be a list")
    return value


def _parsed(key: str, text: str) -> Any:
    if not text.lstrip().startswith(("[", "{")):
        return [part.strip() for part in text.split(",")]
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadContext(key, text, f"is no JSON: {error}") from error


class Fields:
    """The fields of one object in a context value. Whatever is wrong is refused by the key's and the field's name."""

    def __init__(self, key: str, value: Any, known: Iterable[str], inside: str = "") -> None:
        self._key, self._value, self._inside = key, value, inside
        if not isinstance(value, Mapping):
            raise BadContext(key, value, f"{inside.rstrip('.') or 'each entry'} must be an object")
        self._fields: Mapping[str, Any] = value
        if unknown := sorted(set(value) - set(known)):
            self.refuse(unknown[0], f"is not known; known are {', '.join(known)}")

    def has(self, name: str) -> bool:
        return name in self._fields

    def raw(self, name: str) -> Any:
        return self._fields[name]

    def refuse(self, name: str, why: str) -> NoReturn:
        raise BadContext(self._key, dict(self._value), f"{self._inside}{name} {why}")

    def text(self, name: str, pattern: str, default: Any = REQUIRED) -> str:
        value = self._get(name, default)
        if not isinstance(value, str) or not re.fullmatch(pattern, value, re.ASCII):
            self.refuse(name, f"must match ^{pattern}$")
        return value

    def texts(self, name: str, pattern: str, default: Any = REQUIRED) -> tuple[str, ...]:
        values = self._get(name, default)
        if isinstance(values, str) or not values or not all(isinstance(v, str) for v in values):
            self.refuse(name, "must be a list of texts")
        for value in values:
            if not re.fullmatch(pattern, value, re.ASCII):
                self.refuse(name, f"has {value!r}, which does not match ^{pattern}$")
        return tuple(values)

    def number(self, name: str, least: float, most: float, default: Any = REQUIRED) -> float:
        value = self._get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            self.refuse(name, f"must be a number from {least:g} to {most:g}")
        return value

    def whole(self, name: str, least: int, most: int, default: Any = REQUIRED) -> int:
        value = self.number(name, least, most, default)
        if value != int(value):
            self.refuse(name, "must be a whole number")
        return int(value)

    def flag(self, name: str, default: bool) -> bool:
        value = self._get(name, default)
        if not isinstance(value, bool):
            self.refuse(name, "must be true or false")
        return value

    def _get(self, name: str, default: Any) -> Any:
        value = self._fields.get(name, default)
        if value is REQUIRED:
            self.refuse(name, "is required")
        return value
