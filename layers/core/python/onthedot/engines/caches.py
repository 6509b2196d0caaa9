"""Stores that remember what they read for a short time: limits and signing keys are read often and change seldom.

While the store behind it fails, a cache answers with the last value that it read.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.fairness import Limits, TenantLimits
from onthedot.domain.targets.webhooks import SigningKey
from onthedot.ports import Clock, LimitsStore, SigningStore

_LOG: Final = logging.getLogger(__name__)
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
        self._was_read = False

    def read(self) -> Limits:
        """Return the limits. While the store fails, return the last known ones, marked as not known to be right."""
        now = self._clock.now()
        if self._read_at is None or now - self._read_at >= LIMITS_MS:
            try:
                self._limits = self._store.read()
            except Unavailable as error:
                if not self._was_read:
                    raise
                _LOG.warning("limits_unknown", extra={"error": str(error)})
                self._limits = replace(self._limits, known=False)
            self._read_at, self._was_read = now, True
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
            keys = self._read_again(tenant, keys)
            self._read[tenant] = (now, keys)
        return keys

    def _read_again(self, tenant: str, last: Sequence[SigningKey]) -> Sequence[SigningKey]:
        """Read the keys. While the store fails, the last keys sign on: a receiver that has them accepts the call."""
        try:
            return self._store.keys(tenant)
        except Unavailable as error:
            if not last:
                raise
            _LOG.warning("signing_keys_unknown", extra={"tenant": tenant, "error": str(error)})
            return last

    def replace(self, tenant: str, seen: Sequence[SigningKey], keys: Sequence[SigningKey]) -> bool:
        self._read.pop(tenant, None)
        return self._store.replace(tenant, seen, keys)
