"""Cursors as callers see them: opaque, signed, and valid only for the list that they were made for.

An engine's cursor is a position in the store, and a forged one could name any position. So the API signs it with a
secret that callers are not shown, and refuses every text that it did not sign before an engine sees it. When the secret
changes, old cursors are refused and the caller starts at the first page.
"""

import base64
import binascii
import hashlib
import hmac
from typing import Final

from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.runs.records import Record

_SIGNATURE_BYTES: Final = 12
MAX_CURSOR: Final = 4_096


def job_secret(job: Record) -> str:
    """Return the secret for pages of a job's runs. Changes of the job such as a cancel replace its generation."""
    return f"{job.job_id}/{job.generation}"


def sign_cursor(secret: str, cursor: str | None) -> str | None:
    """Return an engine's cursor as the caller gets it. None means that there is no further page."""
    if cursor is None:
        return None
    content = cursor.encode()
    return base64.urlsafe_b64encode(_signature(secret, content) + content).decode().rstrip("=")


def open_cursor(secret: str, text: str | None) -> str | None:
    """Return the engine's cursor in a caller's text. Raise InvalidRequest when it was not signed with this secret."""
    if text is None:
        return None
    try:
        raw = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    signature, content = raw[:_SIGNATURE_BYTES], raw[_SIGNATURE_BYTES:]
    if len(text) > MAX_CURSOR or not hmac.compare_digest(signature, _signature(secret, content)):
        raise InvalidRequest(Problem("cursor", "is not a next_cursor of these pages; start without it"))
    return content.decode()


def _signature(secret: str, content: bytes) -> bytes:
    return hmac.digest(secret.encode(), content, hashlib.sha256)[:_SIGNATURE_BYTES]
