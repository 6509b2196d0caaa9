"""Cursors as callers see them: opaque, and good only for the job that they were made for.

An engine's cursor may say where to read at all. So it is sealed with a value of the job's record that nobody is shown;
what does not come from us is refused before an engine sees it. When that value changes, as by a cancel, reading begins
again.
"""

import base64
import binascii
import hashlib
import hmac
from typing import Final

from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.run import Record

_SEAL_BYTES: Final = 12
MAX_CURSOR: Final = 4_096


def sealed(job: Record, cursor: str | None) -> str | None:
    if cursor is None:
        return None
    content = cursor.encode()
    return base64.urlsafe_b64encode(_seal(job, content) + content).decode().rstrip("=")


def opened(job: Record, text: str | None) -> str | None:
    """Raises InvalidRequest for what this job's pages did not give."""
    if text is None:
        return None
    try:
        raw = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    seal, content = raw[:_SEAL_BYTES], raw[_SEAL_BYTES:]
    if len(text) > MAX_CURSOR or not hmac.compare_digest(seal, _seal(job, content)):
        raise InvalidRequest(Problem("cursor", "is not a next_cursor of this job's pages; start without it"))
    return content.decode()


def _seal(job: Record, content: bytes) -> bytes:
    return hmac.digest(f"{job.job_id}/{job.generation}".encode(), content, hashlib.sha256)[:_SEAL_BYTES]
