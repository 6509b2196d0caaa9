"""Readers of single context values: text from `-c key=value` or typed from `cdk.json`, to a checked value."""

import re
from collections.abc import Callable
from typing import Any


class BadContext(ValueError):
    """A context value is missing, unknown or out of range."""

    def __init__(self, key: str, value: Any, why: str) -> None:
        given = key if value is None else f"{key}={value!r}"
        super().__init__(f"CDK context {given}: {why}")
        self.key = key


def text(pattern: str) -> Callable[[str, Any], str]:
    def read(key: str, value: Any) -> str:
        if not isinstance(value, str) or not re.fullmatch(pattern, value, re.ASCII):
            raise BadContext(key, value, f"must match ^{pattern}$")
        return value

    return read


def whole_number(least: int, most: int) -> Callable[[str, Any], int]:
    def read(key: str, value: Any) -> int:
        # bool is an int in Python; `-c shards=true` is a mistake all the same.
        if isinstance(value, bool) or not re.fullmatch(r"-?\d{1,12}", str(value), re.ASCII):
            raise BadContext(key, value, "must be a whole number")
        if not least <= (number := int(value)) <= most:
            raise BadContext(key, value, f"must be from {least} to {most}")
        return number

    return read


def choice(allowed: tuple[int, ...]) -> Callable[[str, Any], int]:
    def read(key: str, value: Any) -> int:
        number = whole_number(min(allowed), max(allowed))(key, value)
        if number not in allowed:
            raise BadContext(key, value, f"must be one of {', '.join(map(str, allowed))}")
        return number

    return read


def flag(key: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if value not in ("true", "false"):
        raise BadContext(key, value, "must be true or false")
    return bool(value == "true")
