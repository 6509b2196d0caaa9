"""Standard-Webhooks signatures: the receiver of a call can check that onthedot sent it, unchanged and recently.

After a rotation two keys sign for a while, so that receivers have time to change theirs.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

PREFIX: Final = "whsec_"
KEY_BYTES: Final = 32
MOST_KEYS: Final = 5
"""The most keys of a tenant. Each of them signs every call, and they are one stored item."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A secret that signs the calls of a tenant."""

    secret: str
    created_at: int
    retires_at: int | None = None
    """The key signs alongside its successor until this instant. None: it has no successor."""

    def signs(self, now: int) -> bool:
        return self.retires_at is None or now < self.retires_at


def fresh_key(now: int) -> SigningKey:
    return SigningKey(PREFIX + base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode(), now)


def rotated(keys: Sequence[SigningKey], now: int, overlap_ms: int) -> tuple[SigningKey, ...]:
    """Return a new key, followed by the earlier ones, which sign for the overlap at most.

    Retired keys are dropped, and so are the oldest ones when there are too many.
    """
    retiring = [
        SigningKey(key.secret, key.created_at, min(key.retires_at or now + overlap_ms, now + overlap_ms))
        for key in keys
        if key.signs(now)
    ]
    return (fresh_key(now), *(key for key in retiring if key.signs(now)))[:MOST_KEYS]


def signature_headers(keys: Sequence[SigningKey], message_id: str, now: int, body: bytes) -> dict[str, str]:
    """Return the three headers of a call, signed by every key that signs now, the newest first."""
    seconds = str(now // 1000)
    content = _content(message_id, seconds, body)
    signatures = [f"v1,{_signature(key.secret, content)}" for key in keys if key.signs(now)]
    if not signatures:
        return {}
    return {"webhook-id": message_id, "webhook-timestamp": seconds, "webhook-signature": " ".join(signatures)}


def is_signed_by(secret: str, message_id: str, seconds: str, body: bytes, signatures: str) -> bool:
    """Return whether one of the signatures in a header is by this secret. A malformed secret signs nothing."""
    try:
        expected = _signature(secret, _content(message_id, seconds, body)).encode()
    except ValueError:
        return False
    found = (one.removeprefix("v1,") for one in signatures.split() if one.startswith("v1,"))
    return any(hmac.compare_digest(expected, one.encode()) for one in found)


def _content(message_id: str, seconds: str, body: bytes) -> bytes:
    return b".".join([message_id.encode(), seconds.encode(), body])


def _signature(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
