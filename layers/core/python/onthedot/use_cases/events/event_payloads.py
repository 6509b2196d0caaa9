"""Make the payloads of single runs.

A run that an event caused gets the event, or the values that its job's payload picks from it. A run that a client made
may get a payload with the call.
"""

import hashlib
import json
from dataclasses import replace
from typing import Any, Final

from onthedot.domain import compact_json
from onthedot.domain.events.paths import pick
from onthedot.domain.runs.records import Definition, Record
from onthedot.ports import Blobs
from onthedot.schema import EVENT_PAYLOADS, blobs_of
from onthedot.use_cases.jobs.payloads import INLINE_BYTES, load_payload

LARGEST: Final = 1024 * 1024


class PayloadTooLarge(Exception):
    """The payload that a job picks from an event is larger than a payload may be."""


class Payloads:
    """The maker of the payloads that one event gives to runs.

    A large payload that is the same for many jobs is stored once.
    """

    def __init__(self, blobs: Blobs, event: dict[str, Any]) -> None:
        self._blobs = blobs
        self._event = event
        self._stored: set[str] = set()

    def added_to(self, run: Record, job: Record) -> Record:
        """Return the run with its payload. Raise PayloadTooLarge or Unavailable."""
        content = compact_json.to_bytes(self._picked(job.definition))
        if len(content) > LARGEST:
            raise PayloadTooLarge(f"its payload would have {len(content):,} bytes, and {LARGEST:,} are allowed")
        return _kept(self._blobs, run, content, self._stored)

    def _picked(self, definition: Definition | None) -> Any:
        """Pick the payload. A job without a payload of its own, or with null, gets the whole event."""
        template = None if definition is None else json.loads(load_payload(self._blobs, definition))
        return self._event if template is None else pick(template, self._event)


def given_payload(blobs: Blobs, run: Record, payload: Any) -> Record:
    """Return the run with a payload that a client gave to this run only. Raise Unavailable."""
    return _kept(blobs, run, compact_json.to_bytes(payload), set())


def _kept(blobs: Blobs, run: Record, content: bytes, stored: set[str]) -> Record:
    """Return the run with its own payload: in the record, or as a blob unless that is stored already."""
    if len(content) <= INLINE_BYTES:
        return replace(run, payload=content.decode())
    key = f"{blobs_of(run.tenant, EVENT_PAYLOADS)}{hashlib.sha256(content).hexdigest()}"
    if key not in stored:
        blobs.put(key, content)
        stored.add(key)
    return replace(run, payload_ref=key)


def with_own_payload(definition: Definition | None, run: Record) -> Definition | None:
    """Return the definition with the run's own payload, if it has one."""
    if definition is None or (run.payload is None and run.payload_ref is None):
        return definition
    payload = None if run.payload is None else json.loads(run.payload)
    return replace(definition, payload=payload, payload_ref=run.payload_ref)
