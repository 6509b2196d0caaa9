"""Caches of limits and signing keys: while their store fails, they answer with the last value that they read."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from onthedot.domain.errors import Unavailable
from onthedot.domain.gates.limits import KNOWN_MS, GateLimits, Limits, TenantLimits
from onthedot.domain.targets.webhooks import SigningKey, fresh_key
from onthedot.engines.caches import MOST_FOUND, SIGNING_MS, UNKNOWN_MS, CachedGates, CachedLimits, CachedSigning
from tests.builders import NOON, VirtualClock


class Stores:
    """A store of limits and of keys that can fail."""

    def __init__(self) -> None:
        self.failing = False
        self.limits = Limits({"greedy": TenantLimits(in_flight=1)})
        self.signing = [fresh_key(NOON)]
        self.found: dict[tuple[str, ...], Any] = {}
        self.while_reading: Callable[[], None] = lambda: None
        self.reads = 0

    def read(self) -> Limits:
        self._called()
        return self.limits

    def find(self, *of: str) -> Any:
        self._called()
        return self.found.get(of)

    def put(self, *of: Any) -> None:
        self.found[of[:-1]] = of[-1]

    def keys(self, tenant: str) -> Sequence[SigningKey]:
        self._called()
        return self.signing

    def _called(self) -> None:
        self.reads += 1
        self.while_reading()
        if self.failing:
            raise Unavailable("the table")


@pytest.fixture
def stores() -> Stores:
    return Stores()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def test_the_last_known_limits_count_while_they_cannot_be_read(stores: Stores, clock: VirtualClock) -> None:
    cached = CachedLimits(stores, clock)
    assert cached.read().known
    stores.failing = True
    clock.advance(3600)

    last = [cached.read() for _ in range(3)]

    assert {(limits.tenants["greedy"].in_flight, limits.known) for limits in last} == {(1, False)}
    assert stores.reads == 2, "a failing store is asked no more often than a good one"
    stores.failing = False
    clock.advance(KNOWN_MS / 1000)
    assert cached.read().known


def test_limits_that_were_never_read_are_unknown(stores: Stores, clock: VirtualClock) -> None:
    stores.failing = True
    with pytest.raises(Unavailable):
        CachedLimits(stores, clock).read()


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


KINDS = [
    pytest.param(CachedLimits, ("acme",), TenantLimits(in_flight=2), id="a tenant"),
    pytest.param(CachedGates, ("acme", "stripe"), GateLimits(in_flight=2), id="a gate"),
]


@pytest.mark.parametrize(("make", "of", "limits"), KINDS)
def test_found_limits_are_remembered_for_a_second(
    stores: Stores, clock: VirtualClock, make: Any, of: tuple[str, ...], limits: Any
) -> None:
    cached = make(stores, clock)
    stores.found[of] = limits
    assert [cached.find(*of) for _ in range(3)] == [limits] * 3
    stores.found[of] = None
    clock.advance(0.999)
    assert (cached.find(*of), stores.reads) == (limits, 1)
    clock.advance(0.001)
    assert [cached.find(*of) for _ in range(3)] == [None] * 3
    assert stores.reads == 2, "that there are none is remembered too"


@pytest.mark.parametrize(("make", "of", "limits"), KINDS)
def test_the_age_of_limits_counts_from_before_they_were_read(
    stores: Stores, clock: VirtualClock, make: Any, of: tuple[str, ...], limits: Any
) -> None:
    cached = make(stores, clock)
    stores.while_reading = lambda: clock.advance(1.5)
    assert cached.find(*of) is None
    stores.found[of] = limits
    clock.advance(0.5)
    assert cached.find(*of) == limits


@pytest.mark.parametrize(("make", "of", "limits"), KINDS)
def test_a_clock_that_goes_back_does_not_prolong_old_limits(
    stores: Stores, clock: VirtualClock, make: Any, of: tuple[str, ...], limits: Any
) -> None:
    cached = make(stores, clock)
    cached.find(*of)
    stores.found[of] = limits
    clock.advance(-3600)
    assert cached.find(*of) == limits


@pytest.mark.parametrize(("make", "of", "limits"), KINDS)
def test_limits_that_were_put_are_found_at_once(
    stores: Stores, clock: VirtualClock, make: Any, of: tuple[str, ...], limits: Any
) -> None:
    cached = make(stores, clock)
    assert cached.find(*of) is None
    cached.put(*of, limits)
    assert cached.find(*of) == limits


@pytest.mark.parametrize(("make", "of", "limits"), KINDS)
def test_the_last_found_limits_count_while_they_cannot_be_read(
    stores: Stores,
    clock: VirtualClock,
    make: Any,
    of: tuple[str, ...],
    limits: Any,
    *,
    caplog: pytest.LogCaptureFixture,
) -> None:
    cached = make(stores, clock)
    stores.found[of] = limits
    cached.find(*of)
    stores.failing = True
    clock.advance(UNKNOWN_MS / 1000 - 0.001)
    assert cached.find(*of) == limits
    assert [record.message for record in caplog.records] == ["limits_unknown"]
    clock.advance(0.001)
    with pytest.raises(Unavailable):
        cached.find(*of)
    with pytest.raises(Unavailable):
        cached.find(*("other" for _ in of))
    stores.failing, stores.found[of] = False, None
    clock.advance(2)
    assert cached.find(*of) is None


def test_a_million_keys_fill_no_memory(stores: Stores, clock: VirtualClock) -> None:
    cached = CachedGates(stores, clock)  # type: ignore[arg-type]
    for number in range(MOST_FOUND + 1):
        cached.find("acme", f"gate-{number}")
    assert len(cached._found._answers) <= MOST_FOUND
    assert stores.reads == MOST_FOUND + 1
