"""Runs of a pool that the stage no longer has, while something else is gone, damaged or failing too."""

from collections.abc import Sequence
from dataclasses import replace

from onthedot.core.choices import Requirements
from onthedot.core.find_pool import reroute_entries
from onthedot.core.moves import Move
from onthedot.core.ports import Deadline, Undecided
from onthedot.core.records import Definition, Record, Status
from onthedot.core.set_aside import UNHANDLED
from onthedot.core.slots import BUCKET_MS, REREAD, SlotKind, bucket_of, slot_name
from onthedot.targets.types import HttpTarget
from tests.builders import NOON, World, a_run
from tests.scenarios.kits.faults import Faults, FaultyStore
from tests.scenarios.kits.outages import StormySimulation
from tests.scenarios.kits.recurring import cron, fired, submit
from tests.scenarios.kits.simulation import Simulation


def a_run_of_a_removed_pool(simulation: Simulation) -> Record:
    """Let a job stamp a run, and put that run into a fire slot, with a pool that is gone."""
    world = simulation.world
    job = submit(simulation, cron("0 * * * *"))
    simulation.let_pass(57 * 60 + 1)
    (run,) = world.store.runs_of(job.job_id, 10).items
    slot = slot_name(SlotKind.FIRE, 0, bucket_of(run.fire_at))
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


def test_a_run_of_a_removed_pool_that_cannot_be_moved_is_set_aside(world: World) -> None:
    """Its record is too large for a reason. Else no pass could ever pass its slot."""
    run = a_run(world.clock).due_in(60).having(pool="gone").pending().stored_in(world.store)
    assert run.slot is not None
    full = replace(world.engine, store=FullStore(world.store, Faults()))
    result = reroute_entries(full, world.store.read_slot(run.slot).items, Deadline.after(NOON, 10_000))
    assert result.left == 0
    assert result.faults == {run.run_id: f"{UNHANDLED}the item is too large"}


class FullStore(FaultyStore):
    """A store that can never apply a move."""

    def move_many(self, moves: Sequence[Move], deadline: Deadline) -> list[Undecided]:
        return [Undecided("the item is too large", permanent=True) for _ in moves]


def test_workers_that_cannot_be_read_stop_only_the_runs_that_need_them(world: World) -> None:
    """A run of a removed pool needs a worker that can do it. The recurring job of its slot does not."""
    stormy = StormySimulation(world)
    job = submit(stormy, cron("* * * * *"))
    assert job.slot is not None
    definition = Definition(HttpTarget("http://x/"), requirements=Requirements(capabilities=("rare",)))
    homeless = a_run(world.clock).having(pool="gone", definition=definition, fire_at=job.fire_at)
    homeless.standing(Status.PENDING, job.slot).stored_in(world.store)
    stormy.outages.fail("registry.workers", seconds=600)
    stormy.let_pass(590)
    assert len(fired(stormy, job)) == 9
