"""Stores that remember what they read for a short time: limits and signing keys are read often and change seldom.

While the store behind it fails, a cache answers with the last value that it read.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Generic, TypeVar

from onthedot.domain.errors import Unavailable
from onthedot.domain.gates.limits import KNOWN_MS, GateLimits, Limits, TenantLimits
from onthedot.domain.gates.names import GateId
from onthedot.domain.gates.state import GateChange, GateState, Holder
from onthedot.domain.targets.webhooks import SigningKey
from onthedot.ports import Clock, GateAnswer, GateStore, LimitsStore, Page, SigningStore

_LOG: Final = logging.getLogger(__name__)
UNKNOWN_MS: Final = 5_000
"""While limits cannot be read, the last known ones count for this long. Then nothing starts that they may limit."""
MOST_FOUND: Final = 10_000
"""Most gates whose limits are remembered."""
SIGNING_MS: Final = 60_000
"""Milliseconds to remember signing keys: far less than the time for which an old and a new key are both valid."""

Key = TypeVar("Key")
Value = TypeVar("Value")


class _Found(Generic[Key, Value]):
    """The answers of a store by key, each remembered for a short time. That there is nothing is an answer too."""

    def __init__(self, read: Callable[[Key], Value], clock: Clock) -> None:
        self._read = read
        self._clock = clock
        self._answers: dict[Key, tuple[int, Value]] = {}

    def find(self, key: Key) -> Value:
        now = self._clock.now()
        last = self._answers.get(key)
        if last is not None and 0 <= now - last[0] < KNOWN_MS:
            return last[1]
        try:
            value = self._read(key)
        except Unavailable as error:
            if last is None or now - last[0] >= UNKNOWN_MS:
                raise
            _LOG.warning("limits_unknown", extra={"of": key, "error": str(error)})
            return last[1]
        if len(self._answers) >= MOST_FOUND and key not in self._answers:
            self._answers.clear()
        # The age counts from before the read: limits that were put during the read may not be in the answer.
        self._answers[key] = (now, value)
        return value

    def forget(self, key: Key) -> None:
        self._answers.pop(key, None)


class CachedLimits:
    """A `LimitsStore` that reads all limits, and those of one tenant, at most every second."""

    def __init__(self, store: LimitsStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._read_at: int | None = None
        self._limits = Limits()
        self._was_read = False
        self._found: _Found[str, TenantLimits | None] = _Found(store.find, clock)

    def read(self) -> Limits:
        """Return the limits. While the store fails, return the last known ones, marked as not known to be right."""
        now = self._clock.now()
        if self._read_at is None or now - self._read_at >= KNOWN_MS:
            try:
                self._limits = self._store.read()
            except Unavailable as error:
                if not self._was_read:
                    raise
                _LOG.warning("limits_unknown", extra={"error": str(error)})
                self._limits = replace(self._limits, known=False)
            self._read_at, self._was_read = now, True
        return self._limits

    def find(self, tenant: str) -> TenantLimits | None:
        """Return the limits of the tenant. While the store fails, return the last known ones for five seconds."""
        return self._found.find(tenant)

    def put(self, tenant: str, limits: TenantLimits | None) -> None:
        self._store.put(tenant, limits)
        self._read_at = None
        self._found.forget(tenant)


class CachedGates:
    """A `GateStore` that reads the limits of a gate at most every second. It remembers no state."""

    def __init__(self, store: GateStore, clock: Clock) -> None:
        self._store = store
        self._found: _Found[tuple[str, str], GateLimits | None] = _Found(lambda gate: store.find(*gate), clock)

    def find(self, tenant: str, name: str) -> GateLimits | None:
        """Return the limits of the gate. While the store fails, return the last known ones for five seconds."""
        return self._found.find((tenant, name))

    def put(self, tenant: str, name: str, limits: GateLimits | None) -> None:
        self._store.put(tenant, name, limits)
        self._found.forget((tenant, name))

    def names(self, tenant: str, limit: int, cursor: str | None = None) -> Page[tuple[str, GateLimits]]:
        return self._store.names(tenant, limit, cursor)

    def read(self, gate: GateId) -> GateState:
        return self._store.read(gate)

    def pages(self, gate: GateId) -> Sequence[frozenset[Holder]]:
        return self._store.pages(gate)

    def take(
        self, gate: GateId, page: int, holder: Holder, *, room: int, newcomer: bool, capacity: int | None
    ) -> GateAnswer:
        return self._store.take(gate, page, holder, room=room, newcomer=newcomer, capacity=capacity)

    def give_back(self, gate: GateId, page: int, holder: Holder) -> GateState:
        return self._store.give_back(gate, page, holder)

    def change(self, gate: GateId, change: GateChange) -> GateAnswer:
        return self._store.change(gate, change)


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
