"""Payloads: in the record when small, apart when large, always JSON text to whoever asks."""

import hashlib
from dataclasses import replace
from typing import Final

from onthedot.domain import compact_json
from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.records import Definition
from onthedot.ports import Blobs
from onthedot.schema import PAYLOADS

INLINE_BYTES: Final = 1024
"""Larger payloads live apart, so that each move of the record stays cheap."""


def store_payload(blobs: Blobs, definition: Definition) -> Definition:
    """The definition with a large payload moved out. The key is the content's hash: writing twice is harmless."""
    content = _as_json(definition)
    if len(content) <= INLINE_BYTES:
        return definition
    key = f"{PAYLOADS}{hashlib.sha256(content).hexdigest()}"
    blobs.put(key, content)
    return replace(definition, payload=None, payload_ref=key)


def load_payload(blobs: Blobs, definition: Definition) -> bytes:
    """The payload as JSON text. Raises Unavailable when it is kept apart and cannot be read now."""
    if definition.payload_ref is None:
        return _as_json(definition)
    content = blobs.get(definition.payload_ref)
    if content is None:
        raise Unavailable(f"payload {definition.payload_ref} is missing")
    return content


def _as_json(definition: Definition) -> bytes:
    return compact_json.to_bytes(definition.payload)
