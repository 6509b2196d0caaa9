"""The limits of gates: find, put, delete, list, and limits that cannot be read."""

import pytest

from onthedot.core.gate_names import GateId
from onthedot.gates.limits import GateLimits, TenantLimits
from onthedot.gates.state import Holder
from onthedot.gates.state_store import GateStore
from tests.contract.kits.kit import Kit

pytestmark = pytest.mark.on_items

WHOLE = GateLimits(in_flight=3, per_second=2.5, burst=4, paused=True, put_at=1_000, put_by="ci-deploy 🎉")
STOPPED = GateLimits(paused=True)


def test_a_gate_that_was_never_made_has_no_limits(gates: GateStore) -> None:
    assert gates.find("acme", "stripe") is None
    assert gates.names("acme", 10).items == []


@pytest.mark.parametrize("limits", [WHOLE, GateLimits(), GateLimits(in_flight=0), GateLimits(per_second=0.0001)])
def test_limits_are_found_as_they_were_put(gates: GateStore, limits: GateLimits) -> None:
    gates.put("acme", "stripe", GateLimits(in_flight=9, burst=7, per_second=1))
    gates.put("acme", "stripe", limits)
    assert gates.find("acme", "stripe") == limits


def test_a_deleted_gate_is_gone_and_its_state_stays(gates: GateStore) -> None:
    gate = GateId("acme", "stripe")
    gates.put("acme", "stripe", WHOLE)
    state = gates.take(gate, 0, Holder("t", "g", 1, "job_a"), room=1, newcomer=True, capacity=None).state
    gates.put("acme", "stripe", None)
    gates.put("acme", "stripe", None)
    assert gates.find("acme", "stripe") is None
    assert gates.read(gate) == state


def test_gates_are_listed_by_name_and_page_by_page(gates: GateStore) -> None:
    names = [f"gate-{number:02}" for number in range(7)]
    for number, name in enumerate(reversed(names)):
        gates.put("acme", name, GateLimits(in_flight=number))
    gates.put("acm", "gate-00", WHOLE)
    gates.put("acme-2", "gate-00", WHOLE)
    found: list[tuple[str, GateLimits]] = []
    sizes: list[int] = []
    cursor: str | None = None
    while cursor is not None or not sizes:
        page = gates.names("acme", 3, cursor)
        found += page.items
        sizes.append(len(page.items))
        cursor = page.cursor
    assert found == [(name, GateLimits(in_flight=6 - number)) for number, name in enumerate(names)]
    assert sizes == [3, 3, 1]
    assert gates.names("acme", 7).cursor is None


def test_tenants_and_names_do_not_mix(gates: GateStore) -> None:
    pairs = [("a", "job"), ("a#b", "b"), ("a#gate#b", "c"), ("1:a", "b"), ("ä/:", "b"), ("a", "gate")]
    for number, (tenant, name) in enumerate(pairs):
        gates.put(tenant, name, GateLimits(in_flight=number))
    assert [gates.find(*pair) for pair in pairs] == [GateLimits(in_flight=number) for number in range(len(pairs))]
    assert [len(gates.names(tenant, 10).items) for tenant, _ in pairs] == [2, 1, 1, 1, 1, 2]


@pytest.mark.parametrize(
    "text", ["{", "[1]", '{"in_flight":"3"}', '{"paused":1}', '{"per_second":true}', '{"put_by":5}']
)
def test_limits_that_cannot_be_read_stop_their_gate_and_no_other(kit: Kit, text: str) -> None:
    gates = kit.stores.gates
    gates.put("acme", "a", WHOLE)
    gates.put("acme", "c", WHOLE)
    kit.write_limits("acme", "b", text)
    assert gates.find("acme", "b") == STOPPED
    assert gates.names("acme", 10).items == [("a", WHOLE), ("b", STOPPED), ("c", WHOLE)]
    gates.put("acme", "b", GateLimits(in_flight=1))
    assert gates.find("acme", "b") == GateLimits(in_flight=1)


def test_limits_of_another_version_are_read(kit: Kit) -> None:
    kit.write_limits("acme", "b", '{"in_flight":3,"a_newer_field":{"x":1},"burst":null}')
    assert kit.stores.gates.find("acme", "b") == GateLimits(in_flight=3)
    kit.write_limits("acme", None, '{"in_flight":3,"per_second":null,"weight":2,"a_newer_field":1}')
    assert kit.stores.limits.find("acme") == TenantLimits(in_flight=3, weight=2)
