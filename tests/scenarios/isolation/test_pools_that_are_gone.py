"""Runs of a pool that the stage no longer has: another pool runs them, or they wait with that reason."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.moves import Move
from onthedot.core.pools import DEFAULT_POOLS, Pools
from onthedot.core.ports import Deadline, Undecided
from onthedot.core.records import Status
from onthedot.core.set_aside import UNHANDLED
from onthedot.jobs.explain_job import explain_job
from tests.builders import World, a_run, a_world
from tests.scenarios.kits.healthy import FAR, all_on_time, assert_progress_goes_on, healthy
from tests.scenarios.kits.simulation import Simulation

GRPC = frozenset({"grpc"})


@pytest.mark.parametrize("delay", [0, FAR])
def test_a_run_of_a_removed_pool_moves_to_another_one(world: World, simulation: Simulation, delay: int) -> None:
    run = a_run(world.clock).due_in(delay).having(pool="gone").stored_in(world.store)
    simulation.let_pass(delay + 300)
    assert simulation.status(run) is Status.SUCCEEDED
    assert simulation.stored(run).pool == "default"
    if delay:
        assert simulation.target.times_of(run.run_id) == [run.fire_time]


def test_a_run_that_no_pool_can_run_waits_with_that_reason_and_runs_when_one_can() -> None:
    only_long = Pools(tuple(pool for pool in DEFAULT_POOLS if pool.name == "long"))
    with a_world() as world:
        simulation = Simulation(world)
        run = a_run(world.clock).due_in(FAR).having(pool="gone").stored_in(world.store)
        object.__setattr__(world.deployment, "pools", Pools((replace(only_long.all[0], capabilities=GRPC),)))
        try:
            simulation.let_pass(FAR + 600)
            assert simulation.status(run) is Status.PENDING
            reasons = {each.code: each.message for each in explain_job(world.engine, "acme", run.run_id).reasons}
            assert "pool gone is gone, and no other pool can run it" in reasons["held_back"]
            assert_progress_goes_on(world)
            object.__setattr__(world.deployment, "pools", only_long)
            simulation.let_pass(3_600)
        finally:
            object.__setattr__(world.deployment, "pools", Pools())
        assert simulation.stored(run).pool == "long"
        assert simulation.status(run) is Status.SUCCEEDED


def test_a_run_of_a_removed_pool_that_the_store_refuses_to_change_is_set_aside(
    world: World, simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = a_run(world.clock).due_in(FAR).having(pool="gone").stored_in(world.store)
    others = healthy(simulation)
    move_many = type(world.store).move_many

    def refuses(self: Any, moves: Sequence[Move], deadline: Deadline) -> list[Any]:
        answers = move_many(self, moves, deadline)
        return [
            Undecided("ValidationError", permanent=True) if move.run_id == run.run_id else answer
            for move, answer in zip(moves, answers, strict=True)
        ]

    monkeypatch.setattr(type(world.store), "move_many", refuses)
    simulation.let_pass(FAR + 360)
    assert all_on_time(simulation, others)
    assert simulation.stored(run).aside_why == f"{UNHANDLED}ValidationError"
    assert_progress_goes_on(world)
