"""Store and load payloads: small ones in the record, large ones as blobs, always as JSON text."""

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import Any, Final

from onthedot.core.errors import PayloadGone
from onthedot.core.ids import fresh_generation
from onthedot.core.json_text import to_bytes
from onthedot.core.ports import Blobs
from onthedot.core.records import Definition, Record
from onthedot.core.schema import PAYLOADS, blobs_of
from onthedot.targets.types import WorkflowTarget

LINK_SECONDS: Final = 900
INLINE_BYTES: Final = 1024
"""Larger payloads are blobs, so that each move of the record stays cheap."""
_OWNED: Final = re.compile(rf"{PAYLOADS}[0-9a-f]+/(?P<job>job_[a-z2-7]+)/(?P<at>[0-9]{{1,16}})-[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Owner:
    """The job that a blob is stored for, and the time."""

    job_id: str
    stored_at: int

    def fresh_name(self) -> str:
        return f"{self.job_id}/{self.stored_at}-{fresh_generation()}"


def owner_of(key: str) -> Owner | None:
    match = _OWNED.fullmatch(key)
    return None if match is None else Owner(match["job"], int(match["at"]))


@dataclass(frozen=True, slots=True)
class ShownPayload:
    value: Any
    link: str | None


def store_payload(blobs: Blobs, tenant: str, definition: Definition, owner: Owner | None = None) -> Definition:
    """Return the definition with a large payload moved to a blob. Raise Unavailable.

    The blob of a job has a key of its own, so that a pass can remove it (`remove_payloads`). Without an owner the key
    is a hash of the content, and the blob stays.
    """
    content = to_bytes(definition.payload)
    if len(content) <= INLINE_BYTES:
        return definition
    name = hashlib.sha256(content).hexdigest() if owner is None else owner.fresh_name()
    key = f"{blobs_of(tenant, PAYLOADS)}{name}"
    blobs.put(key, content)
    return replace(definition, payload=None, payload_ref=key)


def load_payload(blobs: Blobs, definition: Definition) -> bytes:
    """Return the payload as JSON text. Raise PayloadGone, or Unavailable when a blob cannot be read now."""
    if definition.payload_ref is None:
        return to_bytes(definition.payload)
    content = blobs.get(definition.payload_ref)
    if content is None:
        raise PayloadGone(f"payload {definition.payload_ref} is missing")
    return content


def shown_payload(blobs: Blobs, definition: Definition) -> ShownPayload:
    """Return the payload of a job as a client may see it. Raise Unavailable.

    That of a workflow is not shown, because the jobs in it may hold secrets.
    """
    if isinstance(definition.target, WorkflowTarget):
        return ShownPayload(None, None)
    ref = definition.payload_ref
    link = None if ref is None else blobs.link(ref, LINK_SECONDS)
    return ShownPayload(json.loads(load_payload(blobs, definition)), link)


def with_own_payload(definition: Definition | None, run: Record) -> Definition | None:
    if definition is None or (run.payload is None and run.payload_ref is None):
        return definition
    payload = None if run.payload is None else json.loads(run.payload)
    return replace(definition, payload=payload, payload_ref=run.payload_ref)
