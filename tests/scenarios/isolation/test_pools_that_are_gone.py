"""Runs whose pool the stage no longer has, also while something else is gone, damaged or failing."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.find_pool import Rerouted, reroute_entries
from onthedot.core.moves import Move, applied
from onthedot.core.pools import DEFAULT_POOLS, Pools
from onthedot.core.ports import Deadline, Refused, SlotEntry, Undecided
from onthedot.core.records import Record, Status
from onthedot.core.set_aside import UNHANDLED
from onthedot.core.slots import BUCKET_MS, REREAD, SlotKind, bucket_of, slot_name
from onthedot.jobs.explain_job import explain_job
from tests.builders import World, a_run, a_world
from tests.scenarios.kits.healthy import FAR, all_on_time, assert_progress_goes_on, healthy
from tests.scenarios.kits.recurring import cron, submit
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


def a_run_of_a_removed_pool(simulation: Simulation) -> Record:
    """Let a job stamp a run, and put that run into a fire slot, with a pool that is gone."""
    world = simulation.world
    job = submit(simulation, cron("0 * * * *"))
    simulation.let_pass(57 * 60 + 1)
    (run,) = world.store.runs_of(job.job_id, 10).items
    slot = slot_name(SlotKind.FIRE, 0, bucket_of(run.due_at))
    change(world, "UPDATE runs SET pool = 'gone', status = 'PENDING', slot = ? WHERE run_id = ?", slot, run.run_id)
    return run


def change(world: World, query: str, *values: str) -> None:
    with world.database.transaction() as connection:
        connection.execute(query, values)


def test_a_run_whose_job_has_expired_is_skipped_and_does_not_wait_for_ever(
    world: World, simulation: Simulation
) -> None:
    run = a_run_of_a_removed_pool(simulation)
    change(world, "DELETE FROM runs WHERE run_id = ?", run.job_id)
    simulation.let_pass(600)
    assert simulation.status(run) is Status.SKIPPED


def test_a_run_whose_job_cannot_be_read_waits_with_that_reason(world: World, simulation: Simulation) -> None:
    run = a_run_of_a_removed_pool(simulation)
    change(world, "UPDATE runs SET recurrence = '{' WHERE run_id = ?", run.job_id)
    simulation.let_pass(REREAD * BUCKET_MS / 1000)
    stored = simulation.stored(run)
    assert stored.status is Status.PENDING
    assert "pool gone is gone, and its job cannot be read: its recurrence" in (stored.reason or "")


def rerouted(world: World, monkeypatch: pytest.MonkeyPatch, answer: Any) -> tuple[Rerouted, SlotEntry]:
    run = a_run(world.clock).due_in(600).having(pool="gone").pending().stored_in(world.store)
    assert run.slot is not None
    [entry] = world.store.read_slot(run.slot).items

    def answers(_: Any, moves: Sequence[Move], __: Deadline) -> list[Any]:
        return [answer(applied(run, move)) for move in moves]

    monkeypatch.setattr(type(world.store), "move_many", answers)
    return reroute_entries(world.engine, [entry], Deadline.after(world.clock.now(), 10_000)), entry


def test_a_run_whose_move_is_undecided_is_left_in_its_slot(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = rerouted(world, monkeypatch, lambda _: Undecided("throttled"))
    assert (result.entries, result.left, result.faults) == ([], 1, {})


def test_a_run_that_has_the_pool_already_can_be_claimed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    result, entry = rerouted(world, monkeypatch, Refused)
    assert [(one.run_id, one.pool) for one in result.entries] == [(entry.run_id, "default")]
    assert result.left == 0


def test_entries_for_which_there_is_no_time_are_left(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    _, entry = rerouted(world, monkeypatch, Refused)
    assert reroute_entries(world.engine, [entry] * 3, Deadline(world.clock.now() - 1)).left == 3
