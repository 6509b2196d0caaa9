"""The index may show a record after a tick has passed its slot. Each pass begins a little earlier, and finds it."""

from dataclasses import replace

import pytest

from onthedot.core.ports import Deadline, RunMessage
from onthedot.core.records import Status
from onthedot.core.send import message_for
from onthedot.core.slots import BUCKET_MS, REREAD
from tests.builders import DEPLOYMENT, World, a_run, a_world
from tests.scenarios.kits.index_lag import lagging
from tests.scenarios.kits.outages import StormySimulation
from tests.scenarios.kits.simulation import Simulation

LAGS = [20_000, 60_000, (REREAD - 1) * BUCKET_MS - 1]


@pytest.mark.parametrize("lag_ms", LAGS)
def test_a_run_that_the_index_shows_after_its_slot_was_passed_starts_at_the_next_tick(lag_ms: int) -> None:
    with a_world() as world, lagging(world, lag_ms) as late:
        simulation = Simulation(late)
        simulation.let_pass(120)
        run = a_run(world.clock).pending().stored_in(late.store)
        simulation.let_pass((lag_ms + BUCKET_MS) / 1000 + 1)
        assert simulation.status(run) is Status.SUCCEEDED
        assert len(simulation.target.times_of(run.run_id)) == 1


def test_a_run_that_a_tick_left_in_its_slot_is_claimed_later_however_long_it_takes() -> None:
    """Its queue is closed for longer than the passes read back, so progress may not pass its slot."""
    minutes = 2 * REREAD
    with a_world(replace(DEPLOYMENT, backlog_limit=0)) as world:
        simulation = Simulation(world)
        run = a_run(world.clock).due_in(600).pending().stored_in(world.store)
        world.queues.send([_message_of_nobody(world)], Deadline.after(world.clock.now(), 0))
        world.clock.advance(600)
        for _ in range(minutes):
            simulation.plan_ticks()
            simulation.dispatch()
            world.clock.advance(60)
        assert simulation.status(run) is Status.PENDING
        world.queues.purge(run.pool, run.priority)
        simulation.let_pass(120)
        assert simulation.status(run) is Status.SUCCEEDED


def test_a_slot_that_cannot_be_read_for_long_is_read_when_it_can_be(world: World) -> None:
    stormy = StormySimulation(world)
    run = a_run(world.clock).due_in(600).pending().stored_in(world.store)
    other = a_run(world.clock).due_in(660).pending().stored_in(world.store)
    stormy.outages.fail("store.read_slot", seconds=600 + 120 * REREAD, concerns=lambda slot, *_: slot == run.slot)
    stormy.let_pass(700)
    assert stormy.status(other) is Status.SUCCEEDED
    assert stormy.status(run) is Status.PENDING
    stormy.let_pass(120 * REREAD + 120)
    assert stormy.status(run) is Status.SUCCEEDED


def _message_of_nobody(world: World) -> RunMessage:
    """Return a message that waits in the queue, and whose run is gone."""
    return message_for(a_run(world.clock).build())
