"""JSON as onthedot stores, signs and sends it, and checks of JSON that users wrote."""

import json
from collections.abc import Callable
from typing import Any, Final

_encode: Final = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
"""Made once: `json.dumps` with options makes an encoder for each call."""


def to_text(value: Any, default: Callable[[Any], Any] | None = None) -> str:
    """Return the value as compact JSON text. `default` converts values of types that JSON does not have."""
    if default is None:
        return _encode(value)
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=default)


def to_bytes(value: Any) -> bytes:
    """Return the value as compact JSON in UTF-8: the bytes that are signed are the bytes that are sent."""
    return to_text(value).encode()


DEEPEST: Final = 32
"""The most levels of objects and lists that are accepted: far more than people write."""


def deeper_than(levels: int, value: Any) -> bool:
    level = [value]
    for _ in range(levels + 1):
        level = [inner for outer in level for inner in _parts(outer)]
    return bool(level)


def _parts(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def at(path: str, step: str | int) -> str:
    """Return the path with one more step, such as `detail.state[0]`."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    return f"{path}.{step}" if path else step
