"""Runs of one job that would overlap."""

from onthedot.core import lifecycle
from onthedot.core.lifecycle import Failure
from onthedot.core.records import Record, Status
from onthedot.core.send import message_for
from onthedot.core.start import Done, MayStart, check_before_start
from onthedot.schedules.choices import OverlapPolicy
from tests.scenarios.kits.faults import Fault, Faults
from tests.scenarios.kits.recurring import (
    every,
    fired,
    runs_of,
    submit,
)
from tests.scenarios.kits.simulation import Simulation


def a_run_that_does_not_end(simulation: Simulation, job: Record) -> Record:
    """The job's first run, started by a worker that is at work on it."""
    engine = simulation.world.engine
    run = runs_of(simulation, job)[0]
    simulation.clock.sleep_until(run.due_at)
    assert isinstance(check_before_start(engine, message_for(run)), MayStart)
    now = simulation.clock.now()
    engine.store.move(lifecycle.start(run.run_id, run.generation, now=now, worker="w", attempt_token="t"))
    return simulation.stored(run)


def beat_for(simulation: Simulation, run: Record, seconds: int) -> None:
    for _ in range(seconds // 10):
        simulation.world.store.move(lifecycle.extend_lease(run, simulation.clock.now()))
        simulation.let_pass(10)


def test_runs_that_overlap_are_skipped_when_the_policy_says_so(simulation: Simulation) -> None:
    job = submit(simulation, every(20, simulation), overlap=OverlapPolicy.SKIP)
    long = a_run_that_does_not_end(simulation, job)
    beat_for(simulation, long, 50)
    assert fired(simulation, job) == []
    skipped = [r.reason or "" for r in runs_of(simulation, job) if r.status is Status.SKIPPED]
    assert len(skipped) == 2
    assert all(reason.startswith("overlap") for reason in skipped)
    simulation.world.store.move(lifecycle.succeed(long, simulation.clock.now(), None, simulation.world.deployment))
    simulation.let_pass(60)
    assert len(fired(simulation, job)) == 3


def test_runs_that_overlap_wait_their_turn_when_the_policy_says_so(simulation: Simulation) -> None:
    job = submit(simulation, every(20, simulation), overlap=OverlapPolicy.QUEUE, max_runs=4)
    long = a_run_that_does_not_end(simulation, job)
    beat_for(simulation, long, 300)
    assert fired(simulation, job) == []
    simulation.world.store.move(lifecycle.succeed(long, simulation.clock.now(), None, simulation.world.deployment))
    simulation.let_pass(300)
    assert len(fired(simulation, job)) == 3
    assert {r.status for r in runs_of(simulation, job)} == {Status.SUCCEEDED}


def test_a_run_that_waits_for_its_retry_has_not_ended(simulation: Simulation) -> None:
    job = submit(simulation, every(20, simulation), overlap=OverlapPolicy.SKIP)
    first = a_run_that_does_not_end(simulation, job)
    now, deployment = simulation.clock.now(), simulation.world.deployment
    failure = Failure("HTTP 500")
    retry = lifecycle.retry(first, now, at=now + 70_000, failure=failure, generation="g2", deployment=deployment)
    simulation.world.store.move(retry)
    simulation.let_pass(50)
    assert fired(simulation, job) == []
    assert [r.status for r in runs_of(simulation, job)[1:3]] == [Status.SKIPPED] * 2


def test_of_two_runs_that_ask_at_the_same_time_one_takes_the_turn(simulation: Simulation) -> None:
    job = submit(simulation, every(20, simulation), overlap=OverlapPolicy.QUEUE)
    first, second = runs_of(simulation, job)[:2]
    simulation.clock.sleep_until(second.due_at)
    others: list[object] = []

    def another_worker() -> None:
        others.append(check_before_start(simulation.world.engine, message_for(second)))

    between = Faults(0, Fault.MEANWHILE, meanwhile=another_worker, named="move to ACTIVE")
    assert isinstance(check_before_start(simulation.engine(between), message_for(first)), Done)
    assert isinstance(others[0], MayStart)
    assert simulation.stored(job).last_started_run == second.run_id


def test_a_lost_run_does_not_block_the_ones_behind_it_for_ever(simulation: Simulation) -> None:
    job = submit(simulation, every(60, simulation), overlap=OverlapPolicy.QUEUE, max_runs=3)
    a_run_that_does_not_end(simulation, job)
    simulation.let_pass(900)  # no heartbeat: the sweep takes it back and it runs again
    assert {r.status for r in runs_of(simulation, job)} == {Status.SUCCEEDED}
    assert len(fired(simulation, job)) == 3
