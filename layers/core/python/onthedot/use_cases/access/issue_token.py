"""API tokens: random, shown once, kept only as a hash."""

import hashlib
import secrets

from onthedot.ports import Clock, Principal, TokenStore


def token_hash(api_token: str) -> str:
    """Tokens are 256 random bits, so a plain hash is enough: there is nothing to guess."""
    return hashlib.sha256(api_token.encode()).hexdigest()


def issue_token(tokens: TokenStore, clock: Clock, principal: Principal) -> str:
    api_token = f"otd_{secrets.token_urlsafe(32)}"
    tokens.add(token_hash(api_token), principal, clock.now())
    return api_token


def authenticate(tokens: TokenStore, authorization: str | None) -> Principal | None:
    """The caller behind an `Authorization: Bearer …` header, or None."""
    scheme, _, api_token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not api_token.strip():
        return None
    return tokens.find(token_hash(api_token.strip()))
