"""A slot that fails, a tick that meets another one, a tick without time: the other slots and shards go on."""

from typing import Any

import pytest

from onthedot.core.ports import TickLease
from onthedot.core.records import Status
from onthedot.core.slots import BUCKET_MS
from tests.builders import World
from tests.scenarios.kits.healthy import FAR, SHARDS, all_on_time, healthy
from tests.scenarios.kits.simulation import Simulation


def test_a_slot_that_cannot_be_read_stops_no_other_and_is_read_when_it_can_be(
    world: World,
    simulation: Simulation,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulation.slots_may_fail = True
    runs = healthy(simulation)
    first = runs[0].slot
    read_slot = type(world.store).read_slot

    def failing(store: object, slot: str, *more: Any) -> object:
        if slot == first:
            raise RuntimeError("this partition is broken")
        return read_slot(store, slot, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(type(world.store), "read_slot", failing)
    simulation.let_pass(FAR + 60)
    assert all_on_time(simulation, [run for run in runs if run.slot != first])
    assert simulation.counts["slot_failed"] > 0
    monkeypatch.undo()
    simulation.let_pass(120)
    assert {simulation.status(run) for run in runs} == {Status.SUCCEEDED}


def test_a_second_tick_of_a_group_does_nothing_while_the_first_is_under_way(
    world: World, simulation: Simulation
) -> None:
    runs = healthy(simulation)
    world.clock.advance(FAR - 200)
    now = world.clock.now()
    lease = TickLease(tuple(SHARDS), "slow", now + 90_000)
    assert world.progress.begin(lease, now) == {}
    simulation.plan_ticks()
    simulation.dispatch()
    assert simulation.counts == {"busy": 1}
    world.clock.advance(100)
    simulation.let_pass(200)
    assert all_on_time(simulation, runs)


def test_a_shard_for_which_ticks_have_no_time_keeps_its_progress(world: World, simulation: Simulation) -> None:
    simulation.let_pass(10 * 60)
    before = world.progress.begin(TickLease(tuple(SHARDS), "reader", 0), world.clock.now())
    for _ in range(5):
        world.clock.advance(BUCKET_MS / 1000)
        simulation.plan_ticks()
        simulation.dispatch(no_time=True)
    after = world.progress.begin(TickLease(tuple(SHARDS), "reader", 0), world.clock.now())
    assert simulation.counts["out_of_time"] > 0
    assert after == before
