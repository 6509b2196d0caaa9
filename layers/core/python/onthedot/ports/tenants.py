"""The stores of tenants' limits, API tokens and signing keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from onthedot.domain.gates.limits import Limits, TenantLimits
from onthedot.domain.targets.webhooks import SigningKey
from onthedot.ports.runs import Page


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


class LimitsStore(Protocol):
    """A store of the limits of tenants."""

    def read(self) -> Limits:
        """Return the limits of all tenants that have any."""
        ...

    def find(self, tenant: str) -> TenantLimits | None:
        """Return the limits of one tenant as they are now. None: it has none."""
        ...

    def put(self, tenant: str, limits: TenantLimits | None) -> None:
        """Set the limits of a tenant. None removes them."""
        ...


class TokenStore(Protocol):
    """A store of API tokens, by their hash only. Every token that is found is also on the list.

    An expired token is neither found nor on the list, even if the store deletes it later.
    """

    def find(self, token_hash: str) -> Token | None:
        """Return the token with this hash as it is now, or None when there is none."""
        ...

    def add(self, token_hash: str, token: Token) -> None:
        """Store a token."""
        ...

    def page(self, limit: int, cursor: str | None = None, tenant: str | None = None) -> Page[Token]:
        """Return a page of the tokens of all tenants, or of one tenant, by their ids.

        A page may have fewer tokens than the limit, also none, and still have a cursor.
        """
        ...

    def remove(self, token_id: str) -> bool:
        """Delete a token, which is not found from then on. Return whether there was one.

        After a failure, calling it again deletes the rest.
        """
        ...


@dataclass(frozen=True, slots=True)
class DeletedPage:
    """The answer for one page of a tenant's deletion."""

    deleted: int
    """Number of entries of the tenant that were deleted."""
    cursor: str | None
    """The place where the next page begins. None after the last page."""


class TenantData(Protocol):
    """All data of tenants, for the operator who stops or deletes one.

    It reads the whole store, so no other part has it.
    """

    def jobs_page(self, tenant: str, cursor: str | None = None) -> Page[str]:
        """Read a page of everything that is stored. Return the ids of the tenant's jobs that have not ended."""
        ...

    def delete_page(self, tenant: str, cursor: str | None = None) -> DeletedPage:
        """Read a page of everything that is stored, as it is now, and delete all of the tenant but its limits.

        When this raises Unavailable, a part of the page may be deleted.
        """
        ...

    def delete_blobs(self, tenant: str) -> int:
        """Delete some blobs of the tenant and return their number. 0: there are no more."""
        ...


class SigningStore(Protocol):
    """A store of the keys that sign the calls of a tenant."""

    def keys(self, tenant: str) -> Sequence[SigningKey]:
        """Return the keys, the newest first. A tenant has none before the first use."""
        ...

    def replace(self, tenant: str, seen: Sequence[SigningKey], keys: Sequence[SigningKey]) -> bool:
        """Replace the keys if they are still the `seen` ones. Return whether they were."""
        ...
