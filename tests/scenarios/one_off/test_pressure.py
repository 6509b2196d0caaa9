"""Backlog, large slots and short time, in whole lives."""

from collections import Counter
from dataclasses import replace

import pytest

from onthedot.core import tick as dispatching
from onthedot.core.ports import Deadline
from onthedot.core.records import Record, Status
from onthedot.core.send import read_slot_pages
from onthedot.core.slots import Deployment, slot_bucket
from onthedot.core.tick import continue_tick, dispatch_due
from onthedot.gates.limits import TenantLimits
from onthedot.gates.look import fair_order
from tests.builders import World, a_run, a_world
from tests.scenarios.kits.simulation import Simulation


def pending(world: World, count: int, tenant: str, due_in: float = 100) -> list[Record]:
    return [a_run(world.clock).due_in(due_in).in_tenant(tenant).pending().stored_in(world.store) for _ in range(count)]


def dispatched(world: World, runs: list[Record]) -> int:
    found = [world.store.get(run.run_id) for run in runs]
    return sum(run is not None and run.status is Status.DISPATCHED for run in found)


def test_a_backlogged_queue_pauses_claims_until_it_drains() -> None:
    with a_world(Deployment(shards=2, lookahead=3, history_days=7, backlog_limit=20)) as world:
        simulation = Simulation(world)
        simulation.submit(0)
        for _ in range(30):
            simulation.submit(0)
        runs = pending(world, 10, "acme", due_in=60)
        simulation.plan_ticks()
        simulation.dispatch()
        assert dispatched(world, runs) == 0
        simulation.let_pass(300)
        assert {simulation.status(run) for run in runs} == {Status.SUCCEEDED}


def test_tenants_take_turns_by_their_weights(world: World) -> None:
    world.limits.put("heavy", TenantLimits(weight=3))
    light, _ = pending(world, 20, "light"), pending(world, 20, "heavy")
    slots = [f"fire#{shard}#{slot_bucket(light[0].slot or '')}" for shard in range(2)]
    entries = [entry for slot in slots for page in read_slot_pages(world.engine, slot, 100) for entry in page.items]
    first = fair_order(entries, world.limits.read())[:8]
    assert Counter(entry.tenant for entry in first) == {"heavy": 6, "light": 2}


def test_a_large_slot_is_claimed_minutes_ahead_and_still_fires_on_the_dot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatching, "LARGE_SLOT", 30)
    deployment = Deployment(shards=1, lookahead=3, history_days=7)
    with a_world(deployment, page_size=20) as world:
        simulation = Simulation(world)
        herd = [a_run(world.clock, deployment).due_in(13 * 60 + 30).pending().stored_in(world.store) for _ in range(60)]
        few = [a_run(world.clock, deployment).due_in(12 * 60 + 30).pending().stored_in(world.store) for _ in range(5)]
        simulation.plan_ticks()
        simulation.dispatch()
        assert simulation.counts["claimed_early"] == 1
        assert (dispatched(world, herd), dispatched(world, few)) == (60, 0)
        simulation.let_pass(14 * 60)
        assert {simulation.status(run) for run in [*herd, *few]} == {Status.SUCCEEDED}
        assert min(at for _, _, at in simulation.target.calls) >= few[0].fire_time
        assert all(simulation.target.times_of(run.run_id)[0] >= run.fire_time for run in herd)
        assert len(simulation.target.calls) == 65


def test_a_slot_too_large_for_one_invocation_is_continued_not_restarted(simulation: Simulation) -> None:
    world = simulation.world
    runs = pending(world, 300, "acme")

    class Hasty:
        """A clock on which every look takes a tenth of a second."""

        def now(self) -> int:
            world.clock.advance(0.1)
            return world.clock.now()

        def sleep_until(self, instant: int) -> None:
            world.clock.sleep_until(instant)

    engine = replace(world.engine, clock=Hasty())
    simulation.plan_ticks()
    claims = 0
    for _ in range(200):
        (received,) = world.ticks.receive_ticks(1)
        counts = dispatch_due(engine, world.progress, received.tick, Deadline.after(world.clock.now(), 1_500))
        world.ticks.delete_tick(received)
        claims += counts["claimed"]
        if not counts["out_of_time"]:
            break
        continue_tick(world.ticks, world.clock, received.tick)
    assert claims == 300
    assert dispatched(world, runs) == 300
