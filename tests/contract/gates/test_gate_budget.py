"""What a gate costs, in write units, and how long its state is kept, on DynamoDB."""

from typing import Any

import pytest

from localstack.write_units import counted_units
from onthedot.core.choices import Priority
from onthedot.core.gate_names import GateId, keys_slot, look_slot
from onthedot.core.ids import event_run_id, fresh_generation, fresh_job_id
from onthedot.core.items import EXPIRES_AT
from onthedot.core.schema import gate_key
from onthedot.gates.state import PAGE, GateChange, Holder
from onthedot.gates.state_store import KEPT_DAYS
from tests.builders import NOON, VirtualClock
from tests.contract.kits.ministack_kit import Clients, MiniStackKit

GATE = GateId.of("acme-corporation", "customer:42")
DAY = 24 * 3600
FLAG: dict[str, Any] = {"slot": look_slot(GATE, NOON, 64), "due_at": NOON + 120_000, "flagged_at": NOON}
KEY_FLAG = {**FLAG, "slot": keys_slot(GATE)}


class Table:
    """A table in virtual time."""

    def __init__(self, clients: Clients) -> None:
        self.client = clients.dynamodb
        self.clock = VirtualClock()
        kit = MiniStackKit(clients)
        kit.clock = self.clock
        self.items, self.gates = kit.items(), kit.stores.gates

    def kept_for(self, page: int = 0) -> float:
        """The days from now for which the item is kept."""
        item = self.items.get(gate_key(GATE.text, page))
        assert item is not None
        return (item.number(EXPIRES_AT) - self.clock.now() / 1000) / DAY


@pytest.fixture
def table(clients: Clients) -> Table:
    return Table(clients)


def a_holder() -> Holder:
    """The longest holder: the attempt of a run for an event."""
    return Holder(fresh_generation(), fresh_generation(), NOON, event_run_id(fresh_job_id(), NOON, "e"))


def take(table: Table, holder: Holder, page: int = 0) -> bool:
    return table.gates.take(GATE, page, holder, room=PAGE, newcomer=False, capacity=None).done


@pytest.mark.parametrize("page", [0, 1])
def test_each_place_of_a_page_costs_one_unit_to_take_and_one_to_give_back(table: Table, page: int) -> None:
    """Also while the gate is flagged and has a rate: the index does not have the holders."""
    rates = {"next_start": 1_000 * NOON, "next_instant": 1_000 * NOON, "parts": 16}
    table.gates.change(GATE, GateChange(sets={**KEY_FLAG, **rates}, priorities=frozenset(Priority)))
    holders = [a_holder() for _ in range(PAGE)]
    with counted_units(table.client) as units:
        assert all(take(table, holder, page) for holder in holders)
        assert take(table, holders[0], page), "again, after a lost reply"
        for holder in holders:
            table.gates.give_back(GATE, page, holder)
    assert set(units) == {1}
    assert len(units) >= 2 * PAGE


@pytest.mark.parametrize("flag", [FLAG, KEY_FLAG])
def test_a_first_flag_costs_two_units_and_a_flag_again_one(table: Table, flag: dict[str, Any]) -> None:
    take(table, a_holder())
    with counted_units(table.client) as units:
        table.gates.change(GATE, GateChange(sets=flag, priorities=frozenset({Priority.HIGH})))
        table.gates.change(GATE, GateChange(sets={**flag, "flagged_at": NOON + 5_000}))
        table.gates.change(GATE, GateChange(sets={"slot": None, "due_at": None}, forget_priorities=True))
    assert units == [2, 1, 2]


def test_a_look_that_moves_the_gate_to_a_later_slot_costs_three_units(table: Table) -> None:
    table.gates.change(GATE, GateChange(sets=FLAG))
    later = {"slot": look_slot(GATE, NOON + 120_000, 64), "due_at": NOON + 240_000}
    with counted_units(table.client) as units:
        table.gates.change(GATE, GateChange(equals={"slot": FLAG["slot"]}, sets=later))
    assert units == [3]


def test_a_start_at_a_gate_with_a_rate_costs_one_unit(table: Table) -> None:
    table.gates.change(GATE, GateChange(sets=FLAG))
    with counted_units(table.client) as units:
        table.gates.change(GATE, GateChange({"next_start": None}, sets={"next_start": 1_000 * NOON}))
        table.gates.change(GATE, GateChange(above={"next_start": 1}, increments={"next_start": 1_000}))
    assert units == [1, 1]


@pytest.mark.parametrize("page", [0, 1])
def test_each_write_keeps_a_state_for_a_month(table: Table, page: int) -> None:
    holder = a_holder()
    table.gates.give_back(GATE, page, holder)
    assert KEPT_DAYS <= table.kept_for(page) <= KEPT_DAYS + 1, "also one that nothing has taken"
    table.clock.advance(20 * DAY)
    take(table, holder, page)
    assert KEPT_DAYS <= table.kept_for(page) <= KEPT_DAYS + 1
    table.clock.advance(20 * DAY)
    table.gates.give_back(GATE, page, holder)
    assert KEPT_DAYS <= table.kept_for(page) <= KEPT_DAYS + 1


def test_a_look_keeps_the_state_of_a_flagged_gate(table: Table) -> None:
    table.gates.change(GATE, GateChange(sets=FLAG))
    table.clock.advance(29 * DAY)
    table.gates.change(GATE, GateChange(equals={"slot": FLAG["slot"]}, sets={"due_at": NOON}))
    assert KEPT_DAYS <= table.kept_for() <= KEPT_DAYS + 1


def test_a_write_changes_the_time_at_most_once_a_day(table: Table) -> None:
    """A write that changes nothing else makes no record in the table's stream."""
    times: set[float] = set()
    for _ in range(4):
        table.gates.give_back(GATE, 0, a_holder())
        times.add(table.kept_for() + table.clock.now() / 1000 / DAY)
        table.clock.advance(6 * 3600)
    assert len(times) <= 2


def test_several_holders_take_and_give_back_their_places_with_one_unit_each_time(table: Table) -> None:
    holders = [a_holder() for _ in range(PAGE)]

    def take_all(some: list[Holder]) -> bool:
        return table.gates.take_all(GATE, 0, some, room=PAGE, newcomer=True, capacity=None).done

    with counted_units(table.client) as units:
        assert take_all(holders[:5])
        assert not take_all(holders[3:]), "all of them, or none"
        assert table.gates.read(GATE).holders == set(holders[:5])
        assert take_all(holders[5:])
        assert take_all(holders), "again, after a lost reply"
        assert table.gates.give_back_all(GATE, 0, holders[:7]).holders == {holders[7]}
    assert set(units) == {1}
    assert not take_all([a_holder() for _ in range(PAGE + 1)])
