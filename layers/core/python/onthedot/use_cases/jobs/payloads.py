"""Store and load payloads: small ones in the record, large ones as blobs, always as JSON text."""

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any, Final

from onthedot.domain import compact_json
from onthedot.domain.errors import PayloadGone
from onthedot.domain.runs.records import Definition
from onthedot.domain.targets.types import WorkflowTarget
from onthedot.ports import Blobs
from onthedot.schema import PAYLOADS

LINK_SECONDS: Final = 900
"""Seconds for which a link to a blob is valid."""
INLINE_BYTES: Final = 1024
"""Larger payloads are blobs, so that each move of the record stays cheap."""


@dataclass(frozen=True, slots=True)
class ShownPayload:
    """A payload as it is shown to a client."""

    value: Any
    link: str | None


def store_payload(blobs: Blobs, definition: Definition) -> Definition:
    """Return the definition with a large payload moved to a blob.

    The blob's key is the hash of the content, so writing twice is harmless. Raise Unavailable.
    """
    content = _as_json(definition)
    if len(content) <= INLINE_BYTES:
        return definition
    key = f"{PAYLOADS}{hashlib.sha256(content).hexdigest()}"
    blobs.put(key, content)
    return replace(definition, payload=None, payload_ref=key)


def load_payload(blobs: Blobs, definition: Definition) -> bytes:
    """Return the payload as JSON text. Raise Unavailable when it is a blob that cannot be read now, or PayloadGone."""
    if definition.payload_ref is None:
        return _as_json(definition)
    content = blobs.get(definition.payload_ref)
    if content is None:
        raise PayloadGone(f"payload {definition.payload_ref} is missing")
    return content


def shown_payload(blobs: Blobs, definition: Definition) -> ShownPayload:
    """Return the payload of a job as a client may see it: read wherever it is stored, and with a link to a large one.

    The payload of a workflow is not shown, because the jobs in it may hold secrets.
    Raise Unavailable when it cannot be read now.
    """
    if isinstance(definition.target, WorkflowTarget):
        return ShownPayload(None, None)
    ref = definition.payload_ref
    link = None if ref is None else blobs.link(ref, LINK_SECONDS)
    return ShownPayload(json.loads(load_payload(blobs, definition)), link)


def _as_json(definition: Definition) -> bytes:
    return compact_json.to_bytes(definition.payload)
