"""Shards can be raised while jobs are stored: no job is lost."""

from dataclasses import replace

from onthedot.domain.deployment import Deployment
from onthedot.domain.runs.records import Status
from onthedot.domain.schedules.schedule import fires_between
from tests.builders import NOON, a_world
from tests.scenarios.kits.recurring import every, fired, submit
from tests.scenarios.kits.simulation import Simulation

FEW, MANY = Deployment(shards=2, lookahead=3, history_days=7), Deployment(shards=8, lookahead=3, history_days=7)


def test_jobs_stored_before_the_shards_were_raised_fire_as_they_would_have() -> None:
    with a_world(FEW) as world:
        before = Simulation(world)
        schedule = every(90, before)
        recurring = submit(before, schedule)
        one_off = [before.submit(300 + 20 * n) for n in range(20)]
        before.let_pass(200)
        after = Simulation(replace(world, deployment=MANY))
        after.target = before.target
        late_comers = [after.submit(400 + 20 * n) for n in range(20)]
        after.let_pass(1_200)
        for run in [*one_off, *late_comers]:
            assert after.target.times_of(run.run_id) == [run.nominal_at]
        assert fired(after, recurring) == fires_between(schedule, NOON, after.clock.now() + 1, 100)
        assert after.stored(recurring).status is Status.ACTIVE


def test_an_outage_while_the_shards_are_raised_loses_nothing() -> None:
    with a_world(FEW) as world:
        before = Simulation(world)
        before.let_pass(120)
        runs = [before.submit(400 + n) for n in range(20)]
        world.clock.advance(3_600)
        after = Simulation(replace(world, deployment=MANY))
        after.let_pass(120)
        assert {after.status(run) for run in runs} == {Status.SUCCEEDED}
