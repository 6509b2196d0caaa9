"""Caches of limits and signing keys: while their store fails, they answer with the last value that they read."""

from collections.abc import Callable
from typing import Any

import pytest

from onthedot.access.signing_store import SIGNING_MS, SigningStore
from onthedot.core.errors import Unavailable
from onthedot.core.items import Condition, Item, Values, Written
from onthedot.core.ports import Page
from onthedot.core.remembered import MOST
from onthedot.core.schema import Key
from onthedot.gates.limit_store import UNKNOWN_MS, LimitsStore
from onthedot.gates.limits import KNOWN_MS, GateLimits, TenantLimits
from onthedot.gates.state_store import GateStore
from onthedot.targets.webhooks import fresh_key
from tests.builders import NOON, VirtualClock


class Stored:
    """Items that can fail, and that count their reads."""

    def __init__(self) -> None:
        self.failing = False
        self.items: dict[Key, Item] = {}
        self.while_reading: Callable[[], None] = lambda: None
        self.reads = 0

    def get(self, key: Key) -> Item | None:
        self._called()
        return self.items.get(key)

    def query(self, partition: str, **_: Any) -> Page[Item]:
        self._called()
        return Page([item for key, item in self.items.items() if key.partition == partition], None)

    def put(self, key: Key, values: Values, condition: Condition = ()) -> Written:
        self.items[key] = Item(key, values)
        return Written(done=True, item=self.items[key])

    def delete(self, key: Key) -> None:
        self.items.pop(key, None)

    def _called(self) -> None:
        self.reads += 1
        self.while_reading()
        if self.failing:
            raise Unavailable("the table")


@pytest.fixture
def stores() -> Any:
    return Stored()


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def test_the_last_known_limits_count_while_they_cannot_be_read(stores: Any, clock: VirtualClock) -> None:
    LimitsStore(stores, clock).put("greedy", TenantLimits(in_flight=1))
    cached = LimitsStore(stores, clock, remembers=True)
    assert cached.read().known
    stores.failing = True
    clock.advance(3600)

    last = [cached.read() for _ in range(3)]

    assert {(limits.tenants["greedy"].in_flight, limits.known) for limits in last} == {(1, False)}
    assert stores.reads == 2, "a failing store is asked no more often than a good one"
    stores.failing = False
    clock.advance(KNOWN_MS / 1000)
    assert cached.read().known


def test_limits_that_were_never_read_are_unknown(stores: Any, clock: VirtualClock) -> None:
    stores.failing = True
    with pytest.raises(Unavailable):
        LimitsStore(stores, clock, remembers=True).read()


def test_the_last_known_keys_sign_while_they_cannot_be_read(stores: Any, clock: VirtualClock) -> None:
    SigningStore(stores, clock).replace("acme", (), [fresh_key(NOON)])
    cached = SigningStore(stores, clock, remembers=True)
    first = cached.keys("acme")
    stores.failing = True
    clock.advance(3600)

    assert [cached.keys("acme") for _ in range(3)] == [first] * 3
    assert stores.reads == 2
    with pytest.raises(Unavailable):
        cached.keys("a tenant without a call before")

    stores.failing, newer = False, (fresh_key(NOON),)
    SigningStore(stores, clock).replace("acme", first, newer)
    clock.advance(SIGNING_MS / 1000)
    assert cached.keys("acme") == newer


KINDS = [
    pytest.param(LimitsStore, ("acme",), TenantLimits(in_flight=2), id="a tenant"),
    pytest.param(GateStore, ("acme", "stripe"), GateLimits(in_flight=2), id="a gate"),
]


@pytest.mark.parametrize(("make", "of", "limits"), KINDS)
def test_found_limits_are_remembered_for_a_second(
    stores: Any, clock: VirtualClock, make: Any, of: tuple[str, ...], limits: Any
) -> None:
    cached, put = make(stores, clock, remembers=True), make(stores, clock).put
    put(*of, limits)
    assert [cached.find(*of) for _ in range(3)] == [limits] * 3
    put(*of, None)
    clock.advance(0.999)
    assert (cached.find(*of), stores.reads) == (limits, 1)
    clock.advance(0.001)
    assert [cached.find(*of) for _ in range(3)] == [None] * 3
    assert stores.reads == 2, "that there are none is remembered too"


@pytest.mark.parametrize(("make", "of", "limits"), KINDS)
def test_the_age_of_limits_counts_from_before_they_were_read(
    stores: Any, clock: VirtualClock, make: Any, of: tuple[str, ...], limits: Any
) -> None:
    cached, put = make(stores, clock, remembers=True), make(stores, clock).put
    stores.while_reading = lambda: clock.advance(1.5)
    assert cached.find(*of) is None
    put(*of, limits)
    clock.advance(0.5)
    assert cached.find(*of) == limits


@pytest.mark.parametrize(("make", "of", "limits"), KINDS)
def test_a_clock_that_goes_back_does_not_prolong_old_limits(
    stores: Any, clock: VirtualClock, make: Any, of: tuple[str, ...], limits: Any
) -> None:
    cached, put = make(stores, clock, remembers=True), make(stores, clock).put
    cached.find(*of)
    put(*of, limits)
    clock.advance(-3600)
    assert cached.find(*of) == limits


@pytest.mark.parametrize(("make", "of", "limits"), KINDS)
def test_limits_that_were_put_are_found_at_once(
    stores: Any, clock: VirtualClock, make: Any, of: tuple[str, ...], limits: Any
) -> None:
    cached = make(stores, clock, remembers=True)
    assert cached.find(*of) is None
    cached.put(*of, limits)
    assert cached.find(*of) == limits


@pytest.mark.parametrize(("make", "of", "limits"), KINDS)
def test_the_last_found_limits_count_while_they_cannot_be_read(
    stores: Any,
    clock: VirtualClock,
    make: Any,
    of: tuple[str, ...],
    limits: Any,
    *,
    caplog: pytest.LogCaptureFixture,
) -> None:
    cached, put = make(stores, clock, remembers=True), make(stores, clock).put
    put(*of, limits)
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
    stores.failing = False
    put(*of, None)
    clock.advance(2)
    assert cached.find(*of) is None


def test_a_million_keys_fill_no_memory(stores: Any, clock: VirtualClock) -> None:
    cached = GateStore(stores, clock, remembers=True)
    for number in range(MOST + 1):
        cached.find("acme", f"gate-{number}")
    assert len(cached._found._answers) <= MOST
    assert stores.reads == MOST + 1
