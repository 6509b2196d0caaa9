"""Ids: random where nothing is given, derived where a retry must arrive at the same one."""

import base64
import hashlib
import secrets


def _spell(raw: bytes) -> str:
    return "job_" + base64.b32encode(raw).decode().rstrip("=").lower()


def fresh_job_id() -> str:
    """An id nobody else has: 128 random bits."""
    return _spell(secrets.token_bytes(16))


def job_id_for_key(tenant: str, idempotency_key: str) -> str:
    """The one id of a tenant's idempotency key, so that put-if-absent alone makes a create idempotent."""
    text = f"{len(tenant)}:{tenant}:{idempotency_key}"
    return _spell(hashlib.sha256(text.encode()).digest()[:16])


def fresh_generation() -> str:
    """Marks one scheduling of a run; also used wherever a random token is needed."""
    return secrets.token_hex(6)
