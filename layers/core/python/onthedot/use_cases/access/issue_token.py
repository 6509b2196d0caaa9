"""Issue and check API tokens: random, shown once, stored only as a hash."""

import hashlib
import secrets

from onthedot.ports import Clock, Principal, TokenStore


def token_hash(api_token: str) -> str:
    """Return the hash of a token. A token has 256 random bits, which cannot be guessed, so a plain hash is enough."""
    return hashlib.sha256(api_token.encode()).hexdigest()


def issue_token(tokens: TokenStore, clock: Clock, principal: Principal) -> str:
    """Store a new token for the caller and return it."""
    api_token = f"otd_{secrets.token_urlsafe(32)}"
    tokens.add(token_hash(api_token), principal, clock.now())
    return api_token


def authenticate(tokens: TokenStore, authorization: str | None) -> Principal | None:
    """Return the caller that an `Authorization: Bearer …` header names, or None."""
    scheme, _, api_token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not api_token.strip():
        return None
    return tokens.find(token_hash(api_token.strip()))
