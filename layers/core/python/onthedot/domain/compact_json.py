"""The one form of JSON that onthedot stores, signs and sends: without spaces and without escaped characters."""

import json
from typing import Any


def to_text(value: Any) -> str:
    """Return the value as compact JSON text."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def to_bytes(value: Any) -> bytes:
    """Return the value as compact JSON in UTF-8: the bytes that are signed are the bytes that are sent."""
    return to_text(value).encode()
