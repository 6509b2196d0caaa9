"""Names of gates: as users write them, as they are stored, and the slots that belong to them."""

import pytest

from onthedot.core.choices import Priority
from onthedot.core.gate_names import GateId, gate_of_slot, keys_slot, look_slot, queue_gate, tenant_gate, waiting_slot
from onthedot.core.slots import slot_shard

AWKWARD = [
    GateId("acme", "stripe"),
    GateId("acme", "customer", "42"),
    GateId("acme", "customer", "a:b#c/d"),
    GateId("acme", "customer", "ключ"),
    GateId("1:a#b", "x"),
    GateId("a", "b", "1:a#b"),
    tenant_gate("acme"),
    queue_gate("default/HIGH"),
]


@pytest.mark.parametrize("gate", AWKWARD)
def test_a_gate_is_read_from_its_text_and_from_its_waiting_list(gate: GateId) -> None:
    assert GateId.read(gate.text) == gate
    for priority in Priority:
        slot = waiting_slot(gate, priority, 3)
        assert gate_of_slot(slot) == gate
        assert slot_shard(slot) == 0


def test_no_two_gates_share_a_text_or_a_slot() -> None:
    assert len({gate.text for gate in AWKWARD}) == len(AWKWARD)
    assert len({waiting_slot(gate, Priority.LOW, 0) for gate in AWKWARD}) == len(AWKWARD)


@pytest.mark.parametrize("slot", [None, "fire#0#1", "watch#3#29", "aside#0", "keys#0#4:acme#customer"])
def test_other_slots_are_no_waiting_lists(slot: str | None) -> None:
    assert gate_of_slot(slot) is None


def test_all_keys_of_a_gate_share_a_slot_and_a_base() -> None:
    first, second = GateId.of("acme", "customer:1"), GateId.of("acme", "customer:2")
    assert first.is_key
    assert first.base == second.base == GateId("acme", "customer")
    assert keys_slot(first) == keys_slot(second.base) != keys_slot(GateId("acme", "other"))


@pytest.mark.parametrize("gate", [GateId("acme", "customer"), tenant_gate("acme"), queue_gate("default/HIGH")])
def test_what_has_no_key_stands_for_itself(gate: GateId) -> None:
    assert not gate.is_key
    assert gate.base == gate
    assert look_slot(gate, 120_000, 4).startswith("watch#")
