"""The one form of JSON that onthedot stores, signs and sends: without spaces and without escaped characters."""

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
