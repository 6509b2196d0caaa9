"""Changes of a gate's state, and flagged gates in slots."""

from typing import Any

import pytest

from onthedot.core.choices import Priority
from onthedot.core.gate_names import GateId, keys_slot
from onthedot.core.ports import Clock, RunStore, SlotEntry
from onthedot.core.records import Kind, Status
from onthedot.gates.state import GateAnswer, GateChange, GateState, Holder
from onthedot.gates.state_store import GateStore
from tests.builders import a_run
from tests.contract.kits.kit import PAGE_SIZE, Kit

GATE = GateId("acme", "stripe")
SLOT = "watch#0#29539440"
FLAG: dict[str, Any] = {"slot": SLOT, "due_at": 1_780_000_000_000, "flagged_at": 1_779_999_000_000}
HIGH, MEDIUM, LOW = Priority.HIGH, Priority.MEDIUM, Priority.LOW


def read_whole(store: RunStore, slot: str) -> tuple[list[SlotEntry], list[int]]:
    entries: list[SlotEntry] = []
    sizes: list[int] = []
    cursor: str | None = None
    while cursor is not None or not sizes:
        page = store.read_slot(slot, cursor)
        assert not page.unreadable
        entries += page.items
        sizes.append(len(page.items))
        cursor = page.cursor
    return entries, sizes


def test_a_change_makes_the_state_of_a_gate_that_had_none(gates: GateStore) -> None:
    change = GateChange({"slot": None, "capacity": None}, sets={**FLAG, "parts": 2}, priorities=frozenset({LOW, HIGH}))
    state = GateState(**FLAG, parts=2, priorities=frozenset({LOW, HIGH}))
    assert gates.change(GATE, change) == GateAnswer(True, state)
    assert gates.read(GATE) == state
    assert gates.change(GATE, change) == GateAnswer(False, state)


def test_every_field_is_set_and_removed(gates: GateStore) -> None:
    values = {**FLAG, "capacity": 20, "parts": 4, "next_start": 10**16, "next_instant": 10**16 + 1}
    holder = Holder("t", "g", 1, "job_a")
    gates.take(GATE, 0, holder, room=1, newcomer=True, capacity=None)
    whole = GateState(**values, holders=frozenset({holder}))
    assert gates.change(GATE, GateChange(sets=values)) == GateAnswer(True, whole)
    assert gates.change(GATE, GateChange(values, sets=dict.fromkeys(values))).state == GateState(
        holders=frozenset({holder})
    )
    assert gates.read(GATE) == GateState(holders=frozenset({holder}))


@pytest.mark.parametrize(
    "change",
    [
        GateChange(equals={"flagged_at": None}),
        GateChange(equals={"parts": 1}),
        GateChange(equals={"slot": "watch#0#1", "parts": None}),
        GateChange(above={"flagged_at": FLAG["flagged_at"]}),
        GateChange(above={"next_start": -1}),
        GateChange(increments={"next_start": 1}),
        GateChange(equals={"slot": SLOT}, above={"due_at": 10**15}),
    ],
)
def test_a_change_whose_expectation_does_not_hold_changes_nothing(gates: GateStore, change: GateChange) -> None:
    gates.change(GATE, GateChange(sets=FLAG))
    wanted = GateChange(
        change.equals, change.above, {"capacity": 5}, change.increments, frozenset({LOW}), forget_priorities=True
    )
    assert gates.change(GATE, wanted) == GateAnswer(False, GateState(**FLAG))
    assert gates.read(GATE) == GateState(**FLAG)


def test_increments_add_to_a_value_that_is_above_a_bound(gates: GateStore) -> None:
    gates.change(GATE, GateChange(sets={"next_instant": 10**15, "next_start": 7}))
    ahead = GateChange(above={"next_instant": 10**15 - 1}, increments={"next_instant": 500_000, "next_start": 1})
    assert gates.change(GATE, ahead).state == GateState(next_instant=10**15 + 500_000, next_start=8)
    assert gates.change(GATE, ahead).state == GateState(next_instant=10**15 + 1_000_000, next_start=9)
    assert not gates.change(GATE, GateChange(above={"next_instant": 2 * 10**15}, increments={"next_instant": 1})).done


def test_priorities_are_added_forgotten_and_replaced(gates: GateStore) -> None:
    def priorities(change: GateChange) -> frozenset[Priority]:
        return gates.change(GATE, change).state.priorities

    assert priorities(GateChange(priorities=frozenset({LOW}))) == {LOW}
    assert priorities(GateChange(priorities=frozenset({HIGH, LOW}))) == {LOW, HIGH}
    assert priorities(GateChange(sets={"parts": 1})) == {LOW, HIGH}
    assert priorities(GateChange(priorities=frozenset({MEDIUM}), forget_priorities=True)) == {MEDIUM}
    assert priorities(GateChange(forget_priorities=True)) == frozenset()
    assert gates.read(GATE) == GateState(parts=1)


def test_a_flagged_gate_is_in_its_slot_as_long_as_it_is_flagged(gates: GateStore, store: RunStore) -> None:
    gates.change(GATE, GateChange(sets=FLAG))
    entry = SlotEntry(GATE.text, SLOT, 1_780_000_000_000, "", "acme", MEDIUM, "", Kind.GATE)
    assert store.read_slot(SLOT).items == [entry]
    gates.change(GATE, GateChange(sets={"slot": "watch#0#29539499"}))
    assert store.read_slot(SLOT).items == []
    assert [entry.run_id for entry in store.read_slot("watch#0#29539499").items] == [GATE.text]
    gates.change(GATE, GateChange(sets={"slot": None, "due_at": None}))
    assert store.read_slot("watch#0#29539499").items == []


def test_gates_and_runs_of_a_slot_come_in_one_order_and_in_pages(
    gates: GateStore, store: RunStore, clock: Clock
) -> None:
    times: dict[str, int] = {}
    for number in range(PAGE_SIZE + 3):
        gate = GateId.of("tenant/#:ü" if number % 2 else "acme", f"customer:{number}/#:é")
        times[gate.text] = clock.now() + 2_000 * number
        gates.change(gate, GateChange(sets={**FLAG, "due_at": times[gate.text]}))
        run = a_run(clock).due_in(2 * number + number % 2).standing(Status.DISPATCHED, SLOT).stored_in(store)
        times[run.run_id] = run.due_at
    entries, sizes = read_whole(store, SLOT)
    assert {entry.run_id: entry.due_at for entry in entries} == times
    assert [entry.due_at for entry in entries] == sorted(times.values())
    assert sizes[:2] == [PAGE_SIZE, PAGE_SIZE]
    assert len(entries) == len(times)
    flagged = [entry for entry in entries if entry.kind is Kind.GATE]
    assert {GateId.read(entry.run_id).tenant for entry in flagged} == {"acme", "tenant/#:ü"}
    assert all(entry.tenant == GateId.read(entry.run_id).tenant for entry in flagged)


def test_gates_of_a_slot_that_are_due_at_the_same_time_come_in_pages(gates: GateStore, store: RunStore) -> None:
    many = [GateId("acme", "customer", f"{number}") for number in range(2 * PAGE_SIZE + 1)]
    slot = keys_slot(many[0])
    for gate in many:
        gates.change(gate, GateChange(sets={**FLAG, "slot": slot}))
    entries, _ = read_whole(store, slot)
    assert {GateId.read(entry.run_id) for entry in entries} == set(many)
    assert len(entries) == len(many)


def test_pages_of_holders_are_in_no_slot(gates: GateStore, store: RunStore) -> None:
    gates.change(GATE, GateChange(sets=FLAG))
    for page in range(3):
        gates.take(GATE, page, Holder("t", "g", page, "job_a"), room=1, newcomer=False, capacity=None)
    assert len(store.read_slot(SLOT).items) == 1


def test_a_gate_cannot_be_set_aside_or_read_as_a_run(gates: GateStore, store: RunStore, clock: Clock) -> None:
    gates.change(GATE, GateChange(sets=FLAG))
    assert not store.set_aside(GATE.text, SLOT, "why", clock.now())
    assert store.get(GATE.text) is None
    assert gates.read(GATE) == GateState(**FLAG)


def test_the_slots_of_flagged_gates_are_in_use(kit: Kit, gates: GateStore) -> None:
    """A shard is retired when nothing is left in its slots."""
    gates.change(GATE, GateChange(sets=FLAG))
    gates.take(GateId("acme", "free"), 0, Holder("t", "g", 1, "job_a"), room=1, newcomer=True, capacity=None)
    assert kit.due_index().slots().items == [SLOT]


def test_a_small_page_has_gates_and_runs(gates: GateStore, store: RunStore, clock: Clock) -> None:
    for number in range(3):
        gates.change(GateId("acme", f"{number}"), GateChange(sets={**FLAG, "due_at": clock.now() + 2_000 * number}))
        a_run(clock).due_in(2 * number + 1).standing(Status.DISPATCHED, SLOT).stored_in(store)
    found: list[int] = []
    cursor: str | None = None
    for _ in range(3):
        page = store.read_slot(SLOT, cursor, 2)
        assert len(page.items) == 2
        found += [entry.due_at - clock.now() for entry in page.items]
        cursor = page.cursor
    assert len(found) == 6
    assert found == sorted(found)


def test_an_entry_names_the_gates_of_its_run_and_its_last_start(store: RunStore, clock: Clock) -> None:
    a_run(clock).having(gates=("customer:42", "stripe"), start_by=5).standing(Status.PENDING, SLOT).stored_in(store)
    [entry] = store.read_slot(SLOT).items
    assert (entry.gates, entry.start_by) == (("customer:42", "stripe"), 5)
