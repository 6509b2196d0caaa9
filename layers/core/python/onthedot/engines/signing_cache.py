"""Signing keys change seldom and are asked for by every HTTP call: remembered for a minute in each process."""

from collections.abc import Sequence
from typing import Final

from onthedot.domain.targets.webhooks import SigningKey
from onthedot.ports import Clock, SigningStore

KEPT_MS: Final = 60_000


class CachedSigning:
    """A `SigningStore` that reads a tenant's keys at most once a minute. Far shorter than keys overlap."""

    def __init__(self, store: SigningStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._kept: dict[str, tuple[int, Sequence[SigningKey]]] = {}

    def keys(self, tenant: str) -> Sequence[SigningKey]:
        now = self._clock.now()
        read_at, keys = self._kept.get(tenant, (0, ()))
        if not keys or now - read_at >= KEPT_MS:
            keys = self._store.keys(tenant)
            self._kept[tenant] = (now, keys)
        return keys

    def replace(self, tenant: str, seen: Sequence[SigningKey], keys: Sequence[SigningKey]) -> bool:
        self._kept.pop(tenant, None)
        return self._store.replace(tenant, seen, keys)
