"""Cursors as callers see them: opaque, and good only for what they were made for.

An engine's cursor may say where to read at all. So it is sealed with a value that its reader is not shown: of the job's
record for the runs of a job. What does not come from us is refused before an engine sees it. When that value changes,
as by a cancel, reading begins again.
"""

import base64
import binascii
import hashlib
import hmac
from typing import Final

from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.runs.records import Record

_SEAL_BYTES: Final = 12
MAX_CURSOR: Final = 4_096


def sealed(job: Record, cursor: str | None) -> str | None:
    return None if cursor is None else sealed_for(_secret_of(job), cursor)


def opened(job: Record, text: str | None) -> str | None:
    """Raises InvalidRequest for what this job's pages did not give."""
    return None if text is None else opened_for(_secret_of(job), text)


def sealed_for(secret: str, cursor: str) -> str:
    content = cursor.encode()
    return base64.urlsafe_b64encode(_seal(secret, content) + content).decode().rstrip("=")


def opened_for(secret: str, text: str) -> str:
    """Raises InvalidRequest for what was not sealed with this secret."""
    try:
        raw = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    seal, content = raw[:_SEAL_BYTES], raw[_SEAL_BYTES:]
    if len(text) > MAX_CURSOR or not hmac.compare_digest(seal, _seal(secret, content)):
        raise InvalidRequest(Problem("cursor", "is not a next_cursor of these pages; start without it"))
    return content.decode()


def _secret_of(job: Record) -> str:
    return f"{job.job_id}/{job.generation}"


def _seal(secret: str, content: bytes) -> bytes:
    return hmac.digest(secret.encode(), content, hashlib.sha256)[:_SEAL_BYTES]
