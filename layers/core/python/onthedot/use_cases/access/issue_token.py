"""Issue and check API tokens: random, shown once, stored only as a hash."""

import hashlib
import secrets
from typing import Final

from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.ports import Clock, Principal, TokenStore

LONGEST_NAME: Final = 100
"""Most characters of a tenant's name. It is a part of many keys, which have at most a kilobyte."""


def token_hash(api_token: str) -> str:
    """Return the hash of a token. A token has 256 random bits, which cannot be guessed, so a plain hash is enough."""
    return hashlib.sha256(api_token.encode()).hexdigest()


def issue_token(tokens: TokenStore, clock: Clock, principal: Principal) -> str:
    """Store a new token for the caller and return it. Raise InvalidRequest for a name that cannot be a part of keys."""
    fields = {"tenant": principal.tenant, "role": principal.role, "name": principal.name}
    bad = [field for field, text in fields.items() if not 0 < len(text) <= LONGEST_NAME or not text.isprintable()]
    if bad:
        message = f"give 1 to {LONGEST_NAME} characters that can be printed"
        raise InvalidRequest(*(Problem(field, message) for field in bad))
    api_token = f"otd_{secrets.token_urlsafe(32)}"
    tokens.add(token_hash(api_token), principal, clock.now())
    return api_token


def authenticate(tokens: TokenStore, authorization: str | None) -> Principal | None:
    """Return the caller that an `Authorization: Bearer …` header names, or None."""
    scheme, _, api_token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not api_token.strip():
        return None
    return tokens.find(token_hash(api_token.strip()))
