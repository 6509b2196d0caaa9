"""The stores of tenants' limits, API tokens and signing keys."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from onthedot.domain.gates.limits import Limits, TenantLimits
from onthedot.domain.targets.webhooks import SigningKey


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller of the API: the tenant, role and name of its API token."""

    tenant: str
    role: str
    name: str


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
    """A store of API tokens, by their hash only."""

    def find(self, token_hash: str) -> Principal | None:
        """Return the owner of a token, or None when there is no such token."""
        ...

    def add(self, token_hash: str, principal: Principal, created_at: int) -> None:
        """Store a token."""
        ...


class SigningStore(Protocol):
    """A store of the keys that sign the calls of a tenant."""

    def keys(self, tenant: str) -> Sequence[SigningKey]:
        """Return the keys, the newest first. A tenant has none before the first use."""
        ...

    def replace(self, tenant: str, seen: Sequence[SigningKey], keys: Sequence[SigningKey]) -> bool:
        """Replace the keys if they are still the `seen` ones. Return whether they were."""
        ...
