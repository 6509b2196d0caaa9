"""Callers of the API, and the tokens that they call it with."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller of the API: the tenant, role and name of its API token."""

    tenant: str
    role: str
    name: str


@dataclass(frozen=True, slots=True)
class Token:
    """An API token as it is stored: everything but its text, which only its owner has."""

    id: str
    """It revokes the token. It is not secret."""
    principal: Principal
    created_at: int
    expires_at: int | None = None
    """The instant from which it is no longer valid. None: it is valid until it is revoked."""

    def is_valid(self, now: int) -> bool:
        return self.expires_at is None or now < self.expires_at
