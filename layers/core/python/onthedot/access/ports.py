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
    """The name by which it is revoked. It is no secret."""
    principal: Principal
    created_at: int
    expires_at: int | None = None
    """The instant from which it is not valid any more. None: it is valid until it is revoked."""

    def is_valid(self, now: int) -> bool:
        """Return whether the token has not expired."""
        return self.expires_at is None or now < self.expires_at


@dataclass(frozen=True, slots=True)
class DeletedPage:
    """The answer for one page of a tenant's deletion."""

    deleted: int
    """Number of entries of the tenant that were deleted."""
    cursor: str | None
    """The place where the next page begins. None after the last page."""
