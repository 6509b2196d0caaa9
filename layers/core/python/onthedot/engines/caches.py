"""Stores that remember what they read for a short time: limits and signing keys are read often and change seldom."""

from collections.abc import Mapping, Sequence
from typing import Final

from onthedot.domain.runs.fairness import Limits, TenantLimits
from onthedot.domain.targets.webhooks import SigningKey
from onthedot.ports import Clock, LimitsStore, SigningStore

LIMITS_MS: Final = 5_000
SIGNING_MS: Final = 60_000
"""Milliseconds to remember signing keys: far less than the time for which an old and a new key are both valid."""


class CachedLimits:
    """A `LimitsStore` that reads the stored limits at most every five seconds."""

    def __init__(self, store: LimitsStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._read_at: int | None = None
        self._limits = Limits()

    def read(self) -> Limits:
        now = self._clock.now()
        if self._read_at is None or now - self._read_at >= LIMITS_MS:
            self._limits = self._store.read()
            self._read_at = now
        return self._limits

    def put(self, tenant: str, limits: TenantLimits | None) -> None:
        self._store.put(tenant, limits)
        self._read_at = None

    def mark_throttled(self, group: int, throttled: Mapping[str, str]) -> None:
        self._store.mark_throttled(group, throttled)
        self._read_at = None


class CachedSigning:
    """A `SigningStore` that reads the keys of a tenant at most once a minute."""

    def __init__(self, store: SigningStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._read: dict[str, tuple[int, Sequence[SigningKey]]] = {}

    def keys(self, tenant: str) -> Sequence[SigningKey]:
        now = self._clock.now()
        read_at, keys = self._read.get(tenant, (0, ()))
        if not keys or now - read_at >= SIGNING_MS:
            keys = self._store.keys(tenant)
            self._read[tenant] = (now, keys)
        return keys

    def replace(self, tenant: str, seen: Sequence[SigningKey], keys: Sequence[SigningKey]) -> bool:
        self._read.pop(tenant, None)
        return self._store.replace(tenant, seen, keys)
