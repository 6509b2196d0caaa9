"""The places of a gate: take one, find none, give it back."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.gate_names import GateId, queue_gate, tenant_gate
from onthedot.core.ids import event_run_id, stamped_run_id
from onthedot.gates.state import PAGE, GateAnswer, GateChange, GateState, Holder
from onthedot.gates.state_store import GateStore
from tests.contract.kits.kit import Kit

pytestmark = pytest.mark.on_items

GATE = GateId("acme", "stripe")
FLAG: dict[str, Any] = {"slot": "watch#0#29539440", "due_at": 1_780_000_000_000, "flagged_at": 1_779_999_000_000}
NAMED = ["stripe", "customer:42", "customer:4#2", "customer:a:b", "customer:a/b", "customer:", "customer:ключ🎉", "c:0"]


def a_holder(number: int = 0, run_id: str | None = None) -> Holder:
    return Holder(f"{number:012x}", f"{number:012x}", 1_780_000_000_000 + number, run_id or f"job_{number}")


def take(gates: GateStore, holder: Holder, gate: GateId = GATE, room: int = 2, newcomer: bool = True) -> GateAnswer:
    return gates.take(gate, 0, holder, room=room, newcomer=newcomer, capacity=None)


def test_a_gate_that_nothing_has_asked_has_an_empty_state(gates: GateStore) -> None:
    assert gates.read(GATE) == GateState()
    assert [len(page) for page in gates.pages(GATE)] in ([], [0])


def test_places_are_taken_until_there_is_no_room(gates: GateStore) -> None:
    first, second, third = map(a_holder, range(3))
    assert take(gates, first) == GateAnswer(True, GateState(holders=frozenset({first})))
    assert take(gates, second) == GateAnswer(True, GateState(holders=frozenset({first, second})))
    assert take(gates, third) == GateAnswer(False, GateState(holders=frozenset({first, second})))
    assert gates.read(GATE).holders == {first, second}
    assert take(gates, third, room=3).done


def test_without_room_not_even_the_first_gets_a_place(gates: GateStore) -> None:
    assert take(gates, a_holder(), room=0) == GateAnswer(False, GateState())
    assert gates.read(GATE) == GateState()


def test_a_place_that_was_got_by_a_lost_reply_counts(gates: GateStore) -> None:
    mine = a_holder(1)
    assert take(gates, mine, room=1).done
    assert take(gates, mine, room=1) == GateAnswer(True, GateState(holders=frozenset({mine})))
    assert take(gates, mine, room=0).done
    gates.change(GATE, GateChange(sets=FLAG))
    assert take(gates, mine, room=1).done, "a flag that came after it takes no place away"
    assert not take(gates, replace(mine, token="another attempt"), room=1).done
    assert gates.read(GATE).holders == {mine}


def test_a_place_given_back_is_free(gates: GateStore) -> None:
    first, second = a_holder(1), a_holder(2)
    take(gates, first, room=1)
    assert gates.give_back(GATE, 0, first) == GateState()
    assert take(gates, second, room=1).done


def test_only_the_very_holder_is_given_back(gates: GateStore) -> None:
    mine = a_holder(1)
    take(gates, mine)
    for other in (
        replace(mine, token="b"),
        replace(mine, generation="b"),
        replace(mine, at=mine.at + 1),
        replace(mine, run_id="job_2"),
    ):
        assert gates.give_back(GATE, 0, other).holders == {mine}
    assert gates.give_back(GateId("acme", "never-asked"), 0, mine) == GateState()
    assert gates.read(GATE).holders == {mine}


def test_a_newcomer_does_not_overtake_and_a_woken_run_does(gates: GateStore) -> None:
    gates.change(GATE, GateChange(sets=FLAG))
    assert take(gates, a_holder(1)) == GateAnswer(False, GateState(**FLAG))
    assert take(gates, a_holder(1), newcomer=False).done


def test_page_0_expects_its_capacity(gates: GateStore) -> None:
    def ask(holder: Holder, capacity: int | None, page: int = 0) -> bool:
        return gates.take(GATE, page, holder, room=8, newcomer=True, capacity=capacity).done

    assert not ask(a_holder(1), 20)
    assert ask(a_holder(1), None)
    gates.change(GATE, GateChange(sets={"capacity": 20}))
    assert not ask(a_holder(2), None)
    assert not ask(a_holder(2), 21)
    assert ask(a_holder(2), 20)
    assert ask(a_holder(3), None, page=1)
    assert ask(a_holder(4), 99, page=2), "only page 0 knows the capacity"


def test_pages_fill_by_themselves_whatever_page_0_says(gates: GateStore) -> None:
    holders = [a_holder(number) for number in range(6)]
    gates.change(GATE, GateChange(sets=FLAG))
    taken = [
        gates.take(GATE, page, holder, room=2, newcomer=True, capacity=None)
        for page, holder in zip([2, 2, 2, 11, 11, 3], holders, strict=True)
    ]
    assert [answer.done for answer in taken] == [True, True, False, True, True, True]
    assert taken[1].state == taken[2].state == GateState(holders=frozenset(holders[:2]))
    pages = gates.pages(GATE)
    assert {number: set(page) for number, page in enumerate(pages) if page} == {
        2: set(holders[:2]),
        3: {holders[5]},
        11: set(holders[3:5]),
    }
    assert gates.give_back(GATE, 11, holders[3]) == GateState(holders=frozenset({holders[4]}))
    gates.give_back(GATE, 11, holders[4])
    assert gates.read(GATE) == GateState(**FLAG), "pages do not touch the state"
    assert sum(map(len, gates.pages(GATE))) == 3


def test_many_that_ask_at_once_get_no_more_than_there_is_room(gates: GateStore) -> None:
    holders = [a_holder(number) for number in range(24)]
    with ThreadPoolExecutor(8) as workers:
        answers = list(workers.map(lambda holder: take(gates, holder, room=PAGE), holders))
    won = {holder for holder, answer in zip(holders, answers, strict=True) if answer.done}
    assert len(won) == PAGE
    assert gates.read(GATE).holders == won


@pytest.mark.parametrize(
    "run_id",
    [
        "job_a",
        "a/b",
        stamped_run_id("job_kv25agz4mpevoolaxo4g2zdtru", 1_780_000_000_000),
        stamped_run_id("job_kv25agz4mpevoolaxo4g2zdtru", 0),
        event_run_id("job_kv25agz4mpevoolaxo4g2zdtru", 1_780_000_000_000, "an event"),
        "job_a.1-x",
        "=job_a",
    ],
)
def test_a_holder_is_read_as_it_was_written(gates: GateStore, run_id: str) -> None:
    holder = a_holder(0, run_id)
    take(gates, holder)
    assert gates.read(GATE).holders == {holder}
    assert gates.pages(GATE)[0] == {holder}
    assert gates.give_back(GATE, 0, holder) == GateState()


def test_each_key_of_each_tenant_has_places_of_its_own(gates: GateStore) -> None:
    asked = [
        *(GateId.of("acme", named) for named in NAMED),
        GateId("acme#stripe", "stripe"),
        GateId("4:acme", "stripe"),
        GateId("", "stripe"),
        tenant_gate("acme"),
        queue_gate("acme"),
        queue_gate("default-high"),
    ]
    for number, gate in enumerate(asked):
        assert take(gates, a_holder(number), gate, room=1).done
    assert [gates.read(gate).holders for gate in asked] == [{a_holder(number)} for number in range(len(asked))]
    assert [GateId.read(gate.text) for gate in asked] == asked


@pytest.mark.parametrize("page", [0, 3])
@pytest.mark.parametrize("text", ["damaged", "a/b/c", "a/b/-/job_a", "t/g/ZZ/=job_a", "a/b/1/", "a/b/1/x.Y"])
def test_a_holder_that_cannot_be_read_keeps_its_place_until_it_is_given_back(kit: Kit, page: int, text: str) -> None:
    gates = kit.stores.gates
    mine = a_holder(1)
    gates.take(GATE, page, mine, room=3, newcomer=True, capacity=None)
    kit.write_holder(GATE, page, text)
    kit.write_holder(GATE, page, text + "2")
    holders = gates.pages(GATE)[page]
    assert sorted(holder.run_id for holder in holders) == ["", "", mine.run_id]
    assert not gates.take(GATE, page, a_holder(2), room=3, newcomer=True, capacity=None).done
    for holder in holders - {mine}:
        gates.give_back(GATE, page, holder)
    assert gates.pages(GATE)[page] == {mine}
