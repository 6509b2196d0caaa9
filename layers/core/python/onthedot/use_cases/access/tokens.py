"""Create, list, revoke and check API tokens: random, shown once, stored only as a hash."""

import hashlib
import secrets
from typing import Final

from onthedot.access.token_store import TokenStore
from onthedot.domain.access import TEXT_PREFIX, token_problems
from onthedot.domain.errors import InvalidRequest, Problem, TokenNotFound
from onthedot.ports import Clock, Principal, Token

_SECRET_BYTES: Final = 32
_ID_BYTES: Final = 9
"""They make 12 characters."""


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
    """Delete a token. Raise TokenNotFound when there is none with this id."""
    if not tokens.remove(token_id):
        raise TokenNotFound(token_id)


def authenticate(tokens: TokenStore, authorization: str | None) -> Principal | None:
    """Return the caller that an `Authorization: Bearer …` header names, or None."""
    scheme, _, api_token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not api_token.strip():
        return None
    token = tokens.find(token_hash(api_token.strip()))
    return None if token is None else token.principal
