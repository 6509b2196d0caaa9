"""Kill each part at each of its effects, lose each reply, let each call fail once: nothing is lost or doubled."""

import pytest

from onthedot.core.errors import Unavailable
from onthedot.core.ports import Answer
from onthedot.core.records import Record, Status
from onthedot.core.slots import Deployment
from tests.builders import World, a_world
from tests.scenarios.kits.faults import Crash, Fault, Faults
from tests.scenarios.kits.simulation import Simulation

RUNS = 7
FAR = 400.25
EFFECTS_OF_SUBMIT = 2
EFFECTS_OF_TICK = 4
EFFECTS_OF_ATTEMPT = 2
EFFECTS_OF_FAILED_ATTEMPT = 3
ONE_SHARD = Deployment(shards=1, lookahead=3, history_days=7)


def each_point(effects: int) -> pytest.MarkDecorator:
    cases = [(at, fault) for at in range(effects) for fault in Fault if fault is not Fault.MEANWHILE]
    return pytest.mark.parametrize(("at", "fault"), cases, ids=[f"{fault} effect {at}" for at, fault in cases])


def submitted_far(world: World) -> tuple[Simulation, list[Record]]:
    """Runs that stand in fire slots, with the clock moved to just before the tick that claims them."""
    simulation = Simulation(world)
    runs = [simulation.submit(FAR + n / 100) for n in range(RUNS)]
    simulation.clock.advance(180)
    simulation.plan_ticks()
    return simulation, runs


def test_the_effects_of_a_tick_are_all_known() -> None:
    with a_world(ONE_SHARD) as world:
        simulation, _ = submitted_far(world)
        counted = Faults()
        simulation.dispatch(counted)
        assert counted.seen == ["begin the tick", "move_many", "send", "write progress"]


@each_point(EFFECTS_OF_TICK)
def test_a_dispatcher_that_dies_loses_nothing_and_its_redelivered_tick_still_fires_on_time(
    at: int, fault: Fault
) -> None:
    with a_world(ONE_SHARD) as world:
        simulation, runs = submitted_far(world)
        faults = Faults(at, fault)
        simulation.dispatch(faults)
        assert len(faults.seen) > at, "the fault was never reached"
        simulation.let_pass(FAR, ticking=False)  # no other tick helps: only the redelivered one
        for run in runs:
            assert simulation.target.times_of(run.run_id) == [run.fire_time]
            assert simulation.status(run) is Status.SUCCEEDED


@each_point(EFFECTS_OF_TICK)
def test_a_dispatcher_that_dies_for_good_loses_nothing(at: int, fault: Fault) -> None:
    with a_world(ONE_SHARD) as world:
        simulation, runs = submitted_far(world)
        simulation.dispatch(Faults(at, fault))
        world.ticks.purge()  # the tick itself is gone too
        simulation.let_pass(FAR + 300)
        for run in runs:
            assert len(simulation.target.times_of(run.run_id)) == 1
            assert simulation.target.times_of(run.run_id)[0] >= run.fire_time
            assert simulation.status(run) is Status.SUCCEEDED


@each_point(EFFECTS_OF_SUBMIT)
@pytest.mark.parametrize("delay", [3.0, FAR])
def test_an_accepted_job_runs_wherever_the_api_died(
    world: World, simulation: Simulation, at: int, fault: Fault, delay: float
) -> None:
    faults = Faults(at, fault)
    try:
        run: Record | None = simulation.submit(delay, faults=faults, key="k")
    except (Crash, Unavailable):
        run = world.store.get(simulation.submit(delay, key="k").run_id)  # the client tries again
    assert run is not None
    simulation.let_pass(delay + 300)
    times = simulation.target.times_of(run.run_id)
    assert len(times) == 1
    assert times[0] >= run.fire_time
    assert simulation.status(run) is Status.SUCCEEDED
    if fault is Fault.LOST_REPLY:  # it knew its own write, and sent it
        assert times == [run.fire_time]


@each_point(EFFECTS_OF_ATTEMPT)
def test_a_worker_that_dies_around_start_and_finish_loses_nothing(
    simulation: Simulation, at: int, fault: Fault
) -> None:
    run = simulation.submit(1)
    simulation.clock.advance(1)
    faults = Faults(at, fault)
    simulation.work(faults)
    assert len(faults.seen) > at, "the fault was never reached"
    simulation.let_pass(1_200)
    stored = simulation.stored(run)
    assert stored.status is Status.SUCCEEDED
    died_before_its_finish = at == 1 and fault in (Fault.CRASH_BEFORE, Fault.CRASH_HALFWAY)
    assert len(simulation.target.calls) == (2 if died_before_its_finish else 1)
    died_after_its_start = at == 0 and fault is Fault.CRASH_AFTER
    assert stored.losses == (1 if died_before_its_finish or died_after_its_start else 0)


@each_point(EFFECTS_OF_FAILED_ATTEMPT)
def test_a_worker_that_dies_around_parking_a_retry_loses_nothing(world: World, at: int, fault: Fault) -> None:
    simulation = Simulation(world, [Answer(ok=False, error="HTTP 500")] * 2)
    run = simulation.submit(1)
    simulation.clock.advance(1)
    faults = Faults(at, fault)
    simulation.work(faults)
    assert len(faults.seen) > at, "the fault was never reached"
    simulation.let_pass(1_200)
    stored = simulation.stored(run)
    assert stored.status is Status.SUCCEEDED
    assert stored.attempts[-1].outcome == "succeeded"
    assert stored.failures + stored.losses + 1 == stored.attempt


def test_a_worker_that_dies_in_the_target_is_found_and_the_run_tried_again(world: World) -> None:
    simulation = Simulation(world, [Crash])
    run = simulation.submit(1)
    simulation.let_pass(300)
    stored = simulation.stored(run)
    assert (stored.status, stored.losses, stored.failures, stored.attempt) == (Status.SUCCEEDED, 1, 0, 2)
    assert stored.attempts[0].outcome == "lost"


def test_a_run_that_kills_every_worker_ends_failed_after_its_fifth_loss(world: World) -> None:
    simulation = Simulation(world, [Crash] * 10)
    run = simulation.submit(1)
    simulation.let_pass(2_400)
    stored = simulation.stored(run)
    assert (stored.status, stored.losses) == (Status.FAILED, 5)
    assert "5 attempts were lost" in (stored.reason or "")
    assert len(simulation.target.calls) == 5
