"""Runs of a pool that the stage no longer has, whose jobs are gone or cannot be read either."""

from onthedot.domain.runs.records import Record, Status
from onthedot.domain.runs.slots import BUCKET_MS, REREAD, SlotKind, bucket_of, slot_name
from tests.builders import World, a_world
from tests.scenarios.kits.recurring import cron, submit
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


def test_a_run_whose_job_has_expired_is_skipped_and_does_not_wait_for_ever() -> None:
    with a_world() as world:
        simulation = Simulation(world)
        run = a_run_of_a_removed_pool(simulation)
        change(world, "DELETE FROM runs WHERE run_id = ?", run.job_id)
        simulation.let_pass(600)
        assert simulation.status(run) is Status.SKIPPED


def test_a_run_whose_job_cannot_be_read_waits_with_that_reason() -> None:
    with a_world() as world:
        simulation = Simulation(world)
        run = a_run_of_a_removed_pool(simulation)
        change(world, "UPDATE runs SET recurrence = '{' WHERE run_id = ?", run.job_id)
        simulation.let_pass(REREAD * BUCKET_MS / 1000)
        stored = simulation.stored(run)
        assert stored.status is Status.PENDING
        assert "pool gone is gone, and its job cannot be read: its recurrence" in (stored.reason or "")
