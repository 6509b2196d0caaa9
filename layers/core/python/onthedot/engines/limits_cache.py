"""Limits change seldom and are asked for on every path: remembered for some seconds in each process."""

from collections.abc import Mapping
from typing import Final

from onthedot.domain.runs.fairness import Limits, TenantLimits
from onthedot.ports import Clock, LimitsStore

KEPT_MS: Final = 5_000


class CachedLimits:
    """A `LimitsStore` that reads through at most every five seconds."""

    def __init__(self, store: LimitsStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._read_at: int | None = None
        self._limits = Limits()

    def read(self) -> Limits:
        now = self._clock.now()
        if self._read_at is None or now - self._read_at >= KEPT_MS:
            self._limits = self._store.read()
            self._read_at = now
        return self._limits

    def put(self, tenant: str, limits: TenantLimits | None) -> None:
        self._store.put(tenant, limits)
        self._read_at = None

    def mark_throttled(self, group: int, held: Mapping[str, str]) -> None:
        self._store.mark_throttled(group, held)
        self._read_at = None
