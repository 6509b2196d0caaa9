"""Limits, API tokens and signing keys of tenants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from onthedot.domain.runs.fairness import Limits, TenantLimits
from onthedot.domain.targets.webhooks import SigningKey


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is calling."""

    tenant: str
    role: str
    name: str


class LimitsStore(Protocol):
    """Remembers tenants' limits, and who is held back by them."""

    def read(self) -> Limits: ...

    def put(self, tenant: str, limits: TenantLimits | None) -> None:
        """Limit a tenant, or lift its limits."""
        ...

    def mark_throttled(self, group: int, throttled: Mapping[str, str]) -> None:
        """Note who a group of shards holds back now, and why."""
        ...


class TokenStore(Protocol):
    """Knows tokens by their hash only."""

    def find(self, token_hash: str) -> Principal | None: ...

    def add(self, token_hash: str, principal: Principal, created_at: int) -> None: ...


class SigningStore(Protocol):
    """Knows the keys that sign a tenant's calls."""

    def keys(self, tenant: str) -> Sequence[SigningKey]:
        """The newest first; none before the first use."""
        ...

    def replace(self, tenant: str, seen: Sequence[SigningKey], keys: Sequence[SigningKey]) -> bool:
        """Put `keys` in the place of those that were seen; whether nobody else was faster."""
        ...
