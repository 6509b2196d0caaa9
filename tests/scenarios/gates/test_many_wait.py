"""Many runs wait at one gate: many places become free at once, or runs whose pool has no worker come first."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.choices import Priority
from onthedot.core.gate_names import GateId, waiting_slot
from onthedot.core.moves import Move
from onthedot.core.ports import Deadline, Moved, Page, SlotEntry
from onthedot.core.records import Record
from onthedot.engine import Engine
from onthedot.gates.give_back import give_back
from onthedot.gates.limits import GateLimits
from onthedot.gates.places import lay_out, page_count, room
from onthedot.gates.state import GateState, Holder
from onthedot.gates.wake import wake_free
from tests.builders import World, a_world
from tests.unit.api.gates.kit import let_wait

STRIPE = GateId("acme", "stripe")
LIST = waiting_slot(STRIPE, Priority.MEDIUM, 0)
ENDS = 100


@pytest.fixture
def world() -> Iterator[World]:
    with a_world(page_size=1_000) as world:
        yield world


def wake(world: World, *runs: Record) -> list[Record]:
    """Wake as many runs as there are places, and return these as they are then."""
    deadline = Deadline.after(world.clock.now(), 60_000)
    wake_free(world.engine, STRIPE, deadline)
    found = world.store.get_many([run.run_id for run in runs], deadline).found
    return [found[run.run_id] for run in runs]


class FrozenIndex:
    """A store whose index shows no write of the last moment. It counts the writes that are refused."""

    def __init__(self, world: World) -> None:
        self._inner = world.store
        self._shown = world.store.read_slot(LIST).items
        self.refused = 0

    def read_slot(self, slot: str, cursor: str | None = None, limit: int | None = None) -> Page[SlotEntry]:
        return Page(self._shown[:limit], None)

    def move(self, move: Move) -> Any:
        outcome = self._inner.move(move)
        self.refused += not isinstance(outcome, Moved)
        return outcome

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def test_a_hundred_ends_wake_a_hundred_runs_with_few_refused_writes(world: World) -> None:
    world.gates.put("acme", "stripe", GateLimits(in_flight=ENDS))
    world.gates.change(STRIPE, lay_out(GateState(), ENDS))
    places = [(page, number) for page in range(page_count(ENDS)) for number in range(room(ENDS, page))]
    holders = [(page, Holder(f"{page}-{number}", "g", world.clock.now(), "job_x")) for page, number in places]
    for page, holder in holders:
        assert world.gates.take(STRIPE, page, holder, room=8, newcomer=False, capacity=ENDS).done
    waiting = let_wait(world, STRIPE, 300, 500)
    store: Any = FrozenIndex(world)
    engine: Engine = replace(world.engine, store=store)
    for page, holder in holders:
        give_back(engine, "acme", [f"{page}#stripe"], holder)
    woken = [number for number, run in enumerate(waiting) if world.store.get(run.run_id).woken]  # type: ignore[union-attr]
    assert len(woken) == ENDS
    assert max(woken) < 2 * ENDS, "about in the order of their fire times"
    assert store.refused <= 5 * ENDS, "a run that waits costs 12 writes at most"


def test_one_look_finds_the_runs_behind_many_of_a_pool_without_a_worker(world: World) -> None:
    world.gates.put("acme", "stripe", GateLimits(in_flight=2))
    unserved, served = let_wait(world, STRIPE, 300, 1_000, pool="pull"), let_wait(world, STRIPE, 5, 100)
    runs = wake(world, *unserved, *served)
    assert [run.woken for run in runs[300:]] == ["stripe", "stripe", None, None, None]
    assert Counter(run.woken for run in runs[:300]) == {"stripe": 300}, "each moves once"


def test_at_a_gate_with_a_rate_they_use_no_instants(world: World) -> None:
    world.gates.put("acme", "stripe", GateLimits(per_second=0.1))
    let_wait(world, STRIPE, 300, 1_000, pool="pull")
    runs = wake(world, *let_wait(world, STRIPE, 2, 100))
    assert [run.due_at - world.clock.now() for run in runs] == [0, 10_000]
