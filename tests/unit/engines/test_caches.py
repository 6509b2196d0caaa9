"""Caches of limits and signing keys: while their store fails, they answer with the last value that they read."""

from collections.abc import Sequence

import pytest

from onthedot.domain.errors import Unavailable
from onthedot.domain.gates.limits import Limits, TenantLimits
from onthedot.domain.targets.webhooks import SigningKey, fresh_key
from onthedot.engines.caches import LIMITS_MS, SIGNING_MS, CachedLimits, CachedSigning
from tests.builders import NOON, VirtualClock


class Stores:
    """A store of limits and of keys that can fail."""

    def __init__(self) -> None:
        self.failing = False
        self.limits = Limits({"greedy": TenantLimits(in_flight=1)})
        self.signing = [fresh_key(NOON)]
        self.reads = 0

    def read(self) -> Limits:
        self._called()
        return self.limits

    def keys(self, tenant: str) -> Sequence[SigningKey]:
        self._called()
        return self.signing

    def _called(self) -> None:
        self.reads += 1
        if self.failing:
            raise Unavailable("the table")


@pytest.fixture
def stores() -> Stores:
    return Stores()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def test_the_last_known_limits_count_while_they_cannot_be_read(stores: Stores, clock: VirtualClock) -> None:
    cached = CachedLimits(stores, clock)  # type: ignore[arg-type]
    assert cached.read().known
    stores.failing = True
    clock.advance(3600)

    last = [cached.read() for _ in range(3)]

    assert {(limits.tenants["greedy"].in_flight, limits.known) for limits in last} == {(1, False)}
    assert stores.reads == 2, "a failing store is asked no more often than a good one"
    stores.failing = False
    clock.advance(LIMITS_MS / 1000)
    assert cached.read().known


def test_limits_that_were_never_read_are_unknown(stores: Stores, clock: VirtualClock) -> None:
    stores.failing = True
    with pytest.raises(Unavailable):
        CachedLimits(stores, clock).read()  # type: ignore[arg-type]


def test_the_last_known_keys_sign_while_they_cannot_be_read(stores: Stores, clock: VirtualClock) -> None:
    cached = CachedSigning(stores, clock)  # type: ignore[arg-type]
    first = cached.keys("acme")
    stores.failing = True
    clock.advance(3600)

    assert [cached.keys("acme") for _ in range(3)] == [first] * 3
    assert stores.reads == 2
    with pytest.raises(Unavailable):
        cached.keys("a tenant without a call before")

    stores.failing, stores.signing = False, [fresh_key(NOON)]
    clock.advance(SIGNING_MS / 1000)
    assert cached.keys("acme") == stores.signing
