"""Runs of a pool that has no worker wait before others at a gate: they keep no place from the others."""

from collections import Counter
from collections.abc import Iterator

import pytest

from onthedot.core.choices import Priority
from onthedot.core.gate_names import GateId, waiting_slot
from onthedot.core.ports import Deadline
from onthedot.core.records import Status
from onthedot.gates.flag import flag_gate
from onthedot.gates.limits import GateLimits
from onthedot.gates.wake import wake_free
from tests.builders import World, a_run, a_world

STRIPE = GateId("acme", "stripe")
LIST = waiting_slot(STRIPE, Priority.MEDIUM, 0)


@pytest.fixture
def world() -> Iterator[World]:
    with a_world(page_size=100) as world:
        world.gates.put("acme", "stripe", GateLimits(in_flight=2))
        flag_gate(world.engine, STRIPE, Priority.MEDIUM, world.clock.now())
        yield world


def let_wait(world: World, pool: str, count: int, since: int) -> list[str]:
    found = []
    for number in range(count):
        run = a_run(world.clock).due_in(number - since).having(pool=pool, gates=("stripe",))
        found.append(run.standing(Status.PENDING, LIST).stored_in(world.store).run_id)
    return found


def test_one_look_finds_the_runs_behind_many_of_a_pool_without_a_worker(world: World) -> None:
    unserved = let_wait(world, "pull", 300, 1_000)
    served = let_wait(world, "default", 5, 100)
    assert wake_free(world.engine, STRIPE, Deadline.after(world.clock.now(), 60_000)) == 2
    records = world.store.get_many(unserved + served, Deadline.after(world.clock.now(), 60_000)).found
    assert [records[one].woken for one in served] == ["stripe", "stripe", None, None, None]
    assert Counter(records[one].woken for one in unserved) == {"stripe": 300}, "each moves once"


def test_at_a_gate_with_a_rate_they_use_no_instants(world: World) -> None:
    world.gates.put("acme", "stripe", GateLimits(per_second=0.1))
    let_wait(world, "pull", 300, 1_000)
    served = let_wait(world, "default", 2, 100)
    wake_free(world.engine, STRIPE, Deadline.after(world.clock.now(), 60_000))
    records = world.store.get_many(served, Deadline.after(world.clock.now(), 60_000)).found
    assert [records[one].due_at - world.clock.now() for one in served] == [0, 10_000]
