"""Make the payload of a run that an event caused: the event, or the values that its job's payload picks from it."""

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

    def __init__(self, blobs: Blobs, tenant: str, event: dict[str, Any]) -> None:
        self._blobs = blobs
        self._prefix = blobs_of(tenant, EVENT_PAYLOADS)
        self._event = event
        self._stored: set[str] = set()

    def added_to(self, run: Record, job: Record) -> Record:
        """Return the run with its payload. Raise PayloadTooLarge or Unavailable."""
        content = compact_json.to_bytes(self._picked(job.definition))
        if len(content) > LARGEST:
            raise PayloadTooLarge(f"its payload would have {len(content):,} bytes, and {LARGEST:,} are allowed")
        if len(content) <= INLINE_BYTES:
            return replace(run, payload=content.decode())
        key = f"{self._prefix}{hashlib.sha256(content).hexdigest()}"
        if key not in self._stored:
            self._blobs.put(key, content)
            self._stored.add(key)
        return replace(run, payload_ref=key)

    def _picked(self, definition: Definition | None) -> Any:
        """Pick the payload. A job without a payload of its own, or with null, gets the whole event."""
        template = None if definition is None else json.loads(load_payload(self._blobs, definition))
        return self._event if template is None else pick(template, self._event)


def with_own_payload(definition: Definition | None, run: Record) -> Definition | None:
    """Return the definition with the run's own payload, if it has one."""
    if definition is None or (run.payload is None and run.payload_ref is None):
        return definition
    payload = None if run.payload is None else json.loads(run.payload)
    return replace(definition, payload=payload, payload_ref=run.payload_ref)
