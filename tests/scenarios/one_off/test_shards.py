"""Shards can be raised, lowered and regrouped while jobs are stored: no run is lost or late."""

import pytest

from onthedot.core.errors import Unavailable
from onthedot.core.records import Record, Status
from onthedot.core.shards import ServedShards, ShardHistory, ShardStore
from onthedot.core.slots import Deployment, slot_shard
from onthedot.schedules.schedule import fires_between
from tests.builders import NOON, World, a_world
from tests.scenarios.kits.recurring import every, fired, submit
from tests.scenarios.kits.simulation import Simulation

FEW, MANY = Deployment(shards=2, lookahead=3, history_days=7), Deployment(shards=8, lookahead=3, history_days=7)


def a_process(world: World, deployment: Deployment) -> Simulation:
    """Return parts of another version on the same database."""
    return Simulation(World.on(world.database, world.clock, deployment, 10))


def submit_many(simulation: Simulation, first_s: int = 400, count: int = 20) -> list[Record]:
    return [simulation.submit(first_s + 20 * n) for n in range(count)]


def all_on_time(simulation: Simulation, runs: list[Record]) -> bool:
    return all(simulation.target.times_of(run.run_id) == [run.fire_time] for run in runs)


def in_old_shards(runs: list[Record]) -> bool:
    """Return whether some of the runs are in shards that only the larger number has."""
    return any(slot_shard(run.slot or "") >= FEW.shards for run in runs)


class Unreadable(ShardStore):
    """A stored history that cannot be read."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def read(self) -> ShardHistory:
        raise self.error


@pytest.mark.parametrize("api", [FEW, MANY], ids=["API of few", "API of many"])
@pytest.mark.parametrize("dispatcher", [FEW, MANY], ids=["dispatcher of few", "dispatcher of many"])
@pytest.mark.parametrize("planner", [FEW, MANY], ids=["planner of few", "planner of many"])
def test_parts_of_different_versions_lose_no_run(api: Deployment, dispatcher: Deployment, planner: Deployment) -> None:
    with a_world(FEW) as world:
        accepting, working = a_process(world, api), a_process(world, dispatcher)
        working.served = ServedShards(world.shards, planner.shards)
        runs = submit_many(accepting)
        schedule = every(90, accepting)
        recurring = submit(accepting, schedule)
        working.let_pass(1_200)
        assert in_old_shards(runs) == (api is MANY)
        assert all_on_time(working, runs)
        assert fired(working, recurring) == fires_between(schedule, NOON, working.clock.now() + 1, 100)


def test_jobs_stored_before_the_shards_were_raised_fire_as_they_would_have() -> None:
    with a_world(FEW) as world:
        before = Simulation(world)
        schedule = every(90, before)
        recurring = submit(before, schedule)
        one_off = [before.submit(300 + 20 * n) for n in range(20)]
        before.let_pass(200)
        after = a_process(world, MANY)
        after.target = before.target
        late_comers = submit_many(after)
        after.let_pass(1_200)
        assert all_on_time(after, [*one_off, *late_comers])
        assert fired(after, recurring) == fires_between(schedule, NOON, after.clock.now() + 1, 100)
        assert after.stored(recurring).status is Status.ACTIVE


def test_jobs_far_ahead_in_shards_that_are_used_no_more_fire_on_time() -> None:
    with a_world(MANY) as world:
        before = Simulation(world)
        far = submit_many(before, first_s=7_200)
        schedule = every(90, before)
        recurring = submit(before, schedule)
        before.let_pass(300)
        after = a_process(world, FEW)
        after.target = before.target
        new = submit_many(after)
        after.let_pass(8_000)
        assert (in_old_shards(far), in_old_shards(new)) == (True, False)
        assert all_on_time(after, [*far, *new])
        assert fired(after, recurring) == fires_between(schedule, NOON, after.clock.now() + 1, 1_000)


def test_shards_that_are_grouped_anew_lose_no_run() -> None:
    with a_world(MANY) as world:
        simulation = Simulation(world)
        runs = submit_many(simulation)
        for shards_per_group in (8, 2, 3, 1):
            simulation.shards_per_group = shards_per_group
            simulation.let_pass(240)
        assert all_on_time(simulation, runs)


@pytest.mark.parametrize(("before", "after", "shards_per_group"), [(FEW, MANY, 16), (MANY, FEW, 3)])
def test_an_outage_while_the_shards_are_changed_and_grouped_anew_loses_nothing(
    before: Deployment, after: Deployment, shards_per_group: int
) -> None:
    with a_world(before) as world:
        first = Simulation(world)
        first.let_pass(120)
        runs = [first.submit(400 + n) for n in range(20)]
        world.clock.advance(3_600)
        second = a_process(world, after)
        second.shards_per_group = shards_per_group
        second.let_pass(120)
        assert {second.status(run) for run in runs} == {Status.SUCCEEDED}


@pytest.mark.parametrize("error", [Unavailable("throttled"), KeyError("steps")])
def test_a_planner_that_cannot_read_the_stored_number_goes_on(error: Exception) -> None:
    with a_world(MANY) as world:
        simulation = Simulation(world)
        runs = submit_many(simulation)
        simulation.served = ServedShards(world.shards, FEW.shards)
        simulation.let_pass(60)
        simulation.served._store = Unreadable(error)
        simulation.let_pass(1_200)
        assert all_on_time(simulation, runs)
        assert ServedShards(Unreadable(error), FEW.shards).count() == FEW.shards
