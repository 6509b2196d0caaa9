"""Ticks of one group come one at a time. A tick that was delivered again is still needed after another one."""

import pytest

from onthedot.core import tick
from onthedot.core.ports import TickLease
from onthedot.core.records import Status
from tests.builders import World, a_run, a_world
from tests.scenarios.kits.outages import StormySimulation


def test_a_redelivered_tick_that_meets_another_one_sends_its_claims_later_and_in_time(world: World) -> None:
    stormy = StormySimulation(world)
    run = a_run(world.clock).due_in(599).pending().stored_in(world.store)
    world.clock.advance(360)
    stormy.outages.fail("queues.send", seconds=10)
    stormy.plan_ticks()
    stormy.dispatch()
    assert (stormy.counts["claimed"], stormy.counts["unsent"]) == (1, 1)
    world.clock.advance(100)
    other = TickLease((0, 1), "another tick", world.clock.now() + 90_000)
    assert world.progress.begin(other, world.clock.now()) is not None
    stormy.dispatch()
    assert stormy.counts["busy"] == 1
    stormy.let_pass(140, ticking=False)
    assert stormy.counts["sent_again"] == 1
    assert stormy.target.times_of(run.run_id) == [run.nominal_at]
    assert stormy.status(run) is Status.SUCCEEDED


def test_a_redelivered_tick_sends_the_runs_that_were_claimed_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tick, "LARGE_SLOT", 1)
    with a_world() as world:
        stormy = StormySimulation(world)
        run = a_run(world.clock).due_in(tick.CLAIMED_AHEAD * 60 + 59).pending().stored_in(world.store)
        stormy.outages.fail("queues.send", seconds=10)
        stormy.plan_ticks()
        stormy.dispatch()
        assert (stormy.counts["claimed_early"], stormy.counts["unsent"]) == (1, 1)
        world.clock.advance(100)
        stormy.dispatch()
        assert stormy.counts["sent_again"] == 1
        stormy.let_pass(15 * 60)
        assert stormy.target.times_of(run.run_id) == [run.nominal_at]


def test_a_new_tick_that_meets_another_one_is_not_needed(world: World) -> None:
    stormy = StormySimulation(world)
    other = TickLease((0, 1), "another tick", world.clock.now() + 90_000)
    assert world.progress.begin(other, world.clock.now()) is not None
    stormy.plan_ticks()
    stormy.dispatch()
    assert stormy.counts["busy"] == 1
    assert world.ticks.counts().in_flight == 0


def test_a_tick_claims_the_runs_before_the_horizon_and_no_others(world: World) -> None:
    stormy = StormySimulation(world)
    end = (world.deployment.lookahead + 1) * 60
    inside, outside = (a_run(world.clock).due_in(due).pending().stored_in(world.store) for due in (end - 1, end))
    stormy.plan_ticks()
    stormy.dispatch()
    assert (stormy.status(inside), stormy.status(outside)) == (Status.DISPATCHED, Status.PENDING)
