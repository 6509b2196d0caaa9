"""Calls of several threads about one gate go together, and each of them gets its own answer."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from onthedot.core.errors import Unavailable
from onthedot.core.gate_names import GateId
from onthedot.core.items import Change, Condition, Item, Written
from onthedot.core.schema import Key
from onthedot.engines.sqlite.database import Database
from onthedot.engines.sqlite.items import SqliteItems
from onthedot.gates.grouped import GroupedGates
from onthedot.gates.state import GateAnswer, GateChange, GateState, Holder
from onthedot.gates.state_store import GateStore
from tests.builders import VirtualClock

GATE = GateId("acme", "stripe")
SECONDS = 10


class SlowItems(SqliteItems):
    """Items whose first call waits until it is let go, and which note their calls and the holders in them."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, VirtualClock())
        self.calls: list[tuple[str, int]] = []
        self.under_way, self.go_on = threading.Event(), threading.Event()
        self.error: Exception | None = None

    def _note(self, what: str, count: int) -> None:
        self.calls.append((what, count))
        if len(self.calls) == 1:
            self.under_way.set()
            assert self.go_on.wait(SECONDS)
        elif self.error is not None:
            raise self.error

    def get(self, key: Key) -> Item | None:
        self._note("read", 1)
        return super().get(key)

    def update(self, key: Key, change: Change, condition: Condition = ()) -> Written:
        more, gone = change.adds.get("h"), change.takes.get("h")
        what = ("take", more) if isinstance(more, frozenset) else ("give back", gone or frozenset())
        self._note(what[0], len(what[1]))
        return super().update(key, change, condition)


@pytest.fixture
def store() -> Iterator[SlowItems]:
    with Database() as database:
        yield SlowItems(database)


def plain(store: SlowItems) -> GateStore:
    """A store of gates whose calls are not noted."""
    return GateStore(SqliteItems(store._database, VirtualClock()), VirtualClock())


def holders(count: int) -> list[Holder]:
    return [Holder(f"t{n:02}", "g", n, f"job_{n}") for n in range(count)]


def side_by_side(gates: GroupedGates, store: SlowItems, calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Make the first call, and the others while it is under way. Return their answers, or errors."""

    def call(made: Callable[[], Any]) -> Any:
        try:
            return made()
        except Unavailable as error:
            return error

    with ThreadPoolExecutor(len(calls)) as threads:
        first = threads.submit(calls[0])
        assert store.under_way.wait(SECONDS)
        others = [threads.submit(call, one) for one in calls[1:]]
        deadline = time.monotonic() + SECONDS
        while _callers(gates) < len(calls):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        store.go_on.set()
        return [first.result(SECONDS), *(one.result(SECONDS) for one in others)]


def _callers(gates: GroupedGates) -> int:
    together: list[Any] = [gates._reads, gates._takes, gates._returns]
    return sum(turn.callers for each in together for turn in list(each._turns.values()))


def takes(gates: GroupedGates, count: int, room: int, *, newcomer: bool = True) -> list[Callable[[], GateAnswer]]:
    def take(holder: Holder) -> Callable[[], GateAnswer]:
        return lambda: gates.take(GATE, 0, holder, room=room, newcomer=newcomer, capacity=None)

    return [take(holder) for holder in holders(count)]


def test_the_first_take_goes_at_once_and_the_others_together(store: SlowItems) -> None:
    gates = GroupedGates(store, VirtualClock())
    answers = side_by_side(gates, store, takes(gates, 6, room=8))
    assert [answer.done for answer in answers] == [True] * 6
    assert store.calls == [("take", 1), ("take", 5)]
    assert gates.read(GATE).holders == set(holders(6))


def test_as_many_take_a_place_as_there_is_room_and_the_others_see_the_state_that_refused_them(
    store: SlowItems,
) -> None:
    gates = GroupedGates(store, VirtualClock())
    answers = side_by_side(gates, store, takes(gates, 6, room=4))
    assert [answer.done for answer in answers].count(True) == 4
    refused = [answer.state for answer in answers if not answer.done]
    assert all(len(state.holders) == 4 for state in refused)
    assert len(store.calls) <= 3


def test_more_than_a_page_has_room_for(store: SlowItems) -> None:
    gates = GroupedGates(store, VirtualClock())
    answers = side_by_side(gates, store, takes(gates, 9, room=2))
    assert [answer.done for answer in answers].count(True) == 2


def test_newcomers_are_refused_together_by_a_flag(store: SlowItems) -> None:
    plain(store).change(GATE, GateChange(sets={"slot": "watch#0#1", "due_at": 1, "flagged_at": 1}))
    gates = GroupedGates(store, VirtualClock())
    answers = side_by_side(gates, store, takes(gates, 5, room=8))
    assert not any(answer.done for answer in answers)
    assert all(answer.state.is_flagged for answer in answers)
    assert store.calls == [("take", 1), ("take", 4)]


def test_places_are_given_back_together(store: SlowItems) -> None:
    for holder in holders(5):
        plain(store).take(GATE, 0, holder, room=8, newcomer=True, capacity=None)
    gates = GroupedGates(store, VirtualClock())
    calls = [lambda holder=holder: gates.give_back(GATE, 0, holder) for holder in holders(5)]
    states = side_by_side(gates, store, calls)
    assert store.calls == [("give back", 1), ("give back", 4)]
    assert states[-1].holders == frozenset()


def test_a_read_that_comes_later_is_not_answered_by_one_that_began_before(store: SlowItems) -> None:
    gates = GroupedGates(store, VirtualClock())
    side_by_side(gates, store, [lambda: gates.read(GATE)] * 5)
    assert store.calls == [("read", 1)] * 2


def test_all_callers_of_a_group_get_its_error_and_the_next_ones_do_not(store: SlowItems) -> None:
    gates = GroupedGates(store, VirtualClock())
    store.error = Unavailable("throttled")
    first, *others = side_by_side(gates, store, takes(gates, 4, room=8))
    assert first.done
    assert [str(error) for error in others] == ["throttled"] * 3
    store.error = None
    assert gates.take(GATE, 0, holders(9)[8], room=8, newcomer=True, capacity=None).done


def test_another_gate_does_not_wait(store: SlowItems) -> None:
    gates = GroupedGates(store, VirtualClock())
    with ThreadPoolExecutor(1) as threads:
        slow = threads.submit(gates.read, GATE)
        assert store.under_way.wait(SECONDS)
        assert gates.read(GateId("acme", "other")) == GateState()
        store.go_on.set()
        slow.result(SECONDS)


def test_nothing_is_remembered_of_calls_that_have_ended(store: SlowItems) -> None:
    gates = GroupedGates(store, VirtualClock())
    side_by_side(gates, store, takes(gates, 3, room=8))
    assert gates._takes._turns == {}
