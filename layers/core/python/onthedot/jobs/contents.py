"""Payloads and results of jobs: stored in the record if they are short, else as blobs, and shown to clients."""

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import Any, Final

from onthedot.core.ids import fresh_generation
from onthedot.core.json_text import to_bytes
from onthedot.core.payloads import INLINE_BYTES, load_payload
from onthedot.core.ports import Blobs
from onthedot.core.records import Definition, Record
from onthedot.core.schema import PAYLOADS, blobs_of
from onthedot.targets.types import WorkflowTarget

LINK_SECONDS: Final = 900
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


def shown_payload(blobs: Blobs, definition: Definition) -> ShownPayload:
    """Return the payload of a job as a client may see it. Raise Unavailable.

    That of a workflow is not shown, because the jobs in it may hold secrets.
    """
    if isinstance(definition.target, WorkflowTarget):
        return ShownPayload(None, None)
    ref = definition.payload_ref
    link = None if ref is None else blobs.link(ref, LINK_SECONDS)
    return ShownPayload(json.loads(load_payload(blobs, definition)), link)


@dataclass(frozen=True, slots=True)
class ShownResult:
    text: str | None
    link: str | None


def short_result(blobs: Blobs, run: Record) -> ShownResult:
    return ShownResult(run.result, result_link(blobs, run))


def whole_result(blobs: Blobs, run: Record) -> ShownResult:
    """Return the result of a run, with the text of a long one where the engine has no links. Raise Unavailable."""
    shown = short_result(blobs, run)
    if run.result_ref is None or shown.link is not None:
        return shown
    content = blobs.get(run.result_ref)
    return ShownResult(None if content is None else content.decode(errors="replace"), None)


def result_link(blobs: Blobs, run: Record) -> str | None:
    """Return a URL that shows a long result for a while. None: it is short, or the engine has no such URLs."""
    return None if run.result_ref is None else blobs.link(run.result_ref, LINK_SECONDS)
