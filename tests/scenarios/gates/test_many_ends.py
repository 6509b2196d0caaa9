"""Many attempts that end at the same moment at one gate, while the index does not show yet which runs were woken."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.choices import Priority
from onthedot.core.gate_names import GateId, waiting_slot
from onthedot.core.moves import Move
from onthedot.core.ports import Moved, Page, SlotEntry
from onthedot.core.records import Status
from onthedot.engine import Engine
from onthedot.gates.flag import flag_gate
from onthedot.gates.give_back import give_back
from onthedot.gates.limits import GateLimits
from onthedot.gates.places import lay_out, page_count, room
from onthedot.gates.state import GateState, Holder
from tests.builders import World, a_run, a_world

STRIPE = GateId("acme", "stripe")
ENDS = 100


@pytest.fixture
def world() -> Iterator[World]:
    with a_world(page_size=1_000) as world:
        yield world


class FrozenIndex:
    """A store whose index shows no write of the last moment. It counts the writes that are refused."""

    def __init__(self, world: World, slot: str) -> None:
        self._inner = world.store
        self._shown = world.store.read_slot(slot).items
        self.refused = 0

    def read_slot(self, slot: str, cursor: str | None = None, limit: int | None = None) -> Page[SlotEntry]:
        return Page(self._shown[:limit], None)

    def move(self, move: Move) -> Any:
        outcome = self._inner.move(move)
        self.refused += not isinstance(outcome, Moved)
        return outcome

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def holders(world: World) -> list[tuple[int, Holder]]:
    """Give all places to attempts."""
    world.gates.put("acme", "stripe", GateLimits(in_flight=ENDS))
    world.gates.change(STRIPE, lay_out(GateState(), ENDS))
    found = []
    for page in range(page_count(ENDS)):
        for number in range(room(ENDS, page)):
            holder = Holder(f"{page}-{number}", "g", world.clock.now(), "job_x")
            assert world.gates.take(STRIPE, page, holder, room=8, newcomer=False, capacity=ENDS).done
            found.append((page, holder))
    return found


def test_a_hundred_ends_wake_a_hundred_runs_with_few_refused_writes(world: World) -> None:
    running = holders(world)
    slot = waiting_slot(STRIPE, Priority.MEDIUM, 0)
    flag_gate(world.engine, STRIPE, Priority.MEDIUM, world.clock.now())
    runs = [a_run(world.clock).due_in(number - 500).standing(Status.PENDING, slot) for number in range(300)]
    waiting = [run.having(gates=("stripe",)).stored_in(world.store).run_id for run in runs]
    store = FrozenIndex(world, slot)
    engine: Engine = replace(world.engine, store=store)
    for page, holder in running:
        give_back(engine, "acme", [f"{page}#stripe"], holder)
    woken = [number for number, run_id in enumerate(waiting) if world.store.get(run_id).woken]  # type: ignore[union-attr]
    assert len(woken) == ENDS
    assert max(woken) < 2 * ENDS, "about in the order of their fire times"
    assert store.refused <= 5 * ENDS, "a run that waits costs 12 writes at most"
