"""Store and load payloads: small ones in the record, large ones as blobs, always as JSON text."""

import json
from dataclasses import replace
from typing import Final

from onthedot.core.errors import PayloadGone
from onthedot.core.json_text import to_bytes
from onthedot.core.ports import Blobs
from onthedot.core.records import Definition, Record

INLINE_BYTES: Final = 1024
"""Larger payloads are blobs, so that each move of the record stays cheap."""


def load_payload(blobs: Blobs, definition: Definition) -> bytes:
    """Return the payload as JSON text. Raise PayloadGone, or Unavailable when a blob cannot be read now."""
    if definition.payload_ref is None:
        return to_bytes(definition.payload)
    content = blobs.get(definition.payload_ref)
    if content is None:
        raise PayloadGone(f"payload {definition.payload_ref} is missing")
    return content


def with_own_payload(definition: Definition | None, run: Record) -> Definition | None:
    if definition is None or (run.payload is None and run.payload_ref is None):
        return definition
    payload = None if run.payload is None else json.loads(run.payload)
    return replace(definition, payload=payload, payload_ref=run.payload_ref)
