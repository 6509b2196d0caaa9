"""The callers of the API: the roles of tokens, and the names that a token may have."""

import hashlib
import secrets
import unicodedata
from typing import Final

from onthedot.access.ports import Principal, Token
from onthedot.access.token_store import TokenStore
from onthedot.core.errors import InvalidRequest, NotFound, Problem
from onthedot.core.ports import Clock

ROLES: Final = ("admin", "operator", "viewer", "worker")
TEXT_PREFIX: Final = "otd_"
"""Every token begins with it, so that scanners find leaked ones."""
LONGEST_NAME: Final = 100
"""The most characters of a tenant's name. It is a part of many keys, which have at most a kilobyte."""
NAME_RULE: Final = (
    f"give 1 to {LONGEST_NAME} characters that can be printed, in the form NFC, without spaces around them"
)
RESERVED_TENANT: Final = "onthedot"
"""The tenant of the stage's own jobs. No token can be made for it."""


def is_name(text: str) -> bool:
    """Return whether the text can be the name of a tenant or a token.

    Two names that look the same must not differ in spaces around them, or in the spelling of an accent.
    """
    return 0 < len(text) <= LONGEST_NAME and text.isprintable() and text == unicodedata.normalize("NFC", text).strip()


def tenant_problems(tenant: str) -> list[Problem]:
    """Return a problem with the name of a tenant that an operator limits, changes or deletes."""
    if not is_name(tenant):
        return [Problem("tenant", f"is not the name of a tenant; {NAME_RULE}")]
    if tenant == RESERVED_TENANT:
        return [Problem("tenant", f"{RESERVED_TENANT} has the stage's own jobs; give another tenant")]
    return []


def token_problems(tenant: str, role: str, name: str) -> list[Problem]:
    problems = [Problem(field, NAME_RULE) for field, text in (("tenant", tenant), ("name", name)) if not is_name(text)]
    if tenant == RESERVED_TENANT:
        problems.append(Problem("tenant", f"{RESERVED_TENANT} is reserved for the stage's own jobs; give another one"))
    if role not in ROLES:
        problems.append(Problem("role", f"is not one of the roles; give {', '.join(ROLES[:-1])} or {ROLES[-1]}"))
    return problems


_SECRET_BYTES: Final = 32
_ID_BYTES: Final = 9


def token_hash(api_token: str) -> str:
    """Return the hash of a token. A token has 256 random bits, which cannot be guessed, so a plain hash is enough."""
    return hashlib.sha256(api_token.encode()).hexdigest()


def create_token(
    tokens: TokenStore, clock: Clock, principal: Principal, expires_at: int | None = None
) -> tuple[str, Token]:
    """Store a new token for the caller, and return its text, which is nowhere else, and the rest.

    Raise InvalidRequest for a tenant, role or name that a token must not have, and for an expiry that has passed.
    """
    now = clock.now()
    problems = token_problems(principal.tenant, principal.role, principal.name)
    if expires_at is not None and expires_at <= now:
        problems.append(Problem("expires_at", "has passed; give a later time"))
    if problems:
        raise InvalidRequest(*problems)
    api_token = f"{TEXT_PREFIX}{secrets.token_urlsafe(_SECRET_BYTES)}"
    token = Token(f"tok_{secrets.token_urlsafe(_ID_BYTES)}", principal, now, expires_at)
    tokens.add(token_hash(api_token), token)
    return api_token, token


def revoke_token(tokens: TokenStore, token_id: str) -> None:
    if not tokens.remove(token_id):
        raise NotFound("token", token_id, "GET /v1/tokens lists the ids")


def authenticate(tokens: TokenStore, authorization: str | None) -> Principal | None:
    """Return the caller that an `Authorization: Bearer …` header names, or None."""
    scheme, _, api_token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not api_token.strip():
        return None
    token = tokens.find(token_hash(api_token.strip()))
    return None if token is None else token.principal
