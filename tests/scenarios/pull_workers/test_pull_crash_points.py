"""Kill a lease, a report, a redrive or a hand-over to one worker at each effect: nothing is lost or done twice over."""

from contextlib import suppress

import pytest

from onthedot.core.errors import StaleAttempt, Unavailable
from onthedot.core.ports import Answer
from onthedot.core.records import Record, Status
from onthedot.jobs.redrive import redrive, redrive_matching
from onthedot.workers.assign import assign_to_worker
from tests.builders import World
from tests.scenarios.kits.faults import Crash, Fault, Faults
from tests.scenarios.kits.pulling import FINE, PullWorker, a_shell_job, a_worker
from tests.scenarios.kits.simulation import Simulation
from tests.scenarios.one_off.test_crash_points import each_point

BROKEN = Answer(ok=False, error="exit 1")
DIED = Answer(ok=False, error="the process died", lost=True)
RELEASED = Answer(ok=False, error="the worker was stopped", handed_back=True)
FATAL = Answer(ok=False, error="never", retryable=False)
# The effects of a report: the run's move, the message of a run that is tried again, the deletion of its own message.
EFFECTS_OF_LEASE, EFFECTS_OF_SUCCESS, EFFECTS_OF_TRYING_AGAIN = 1, 2, 3


def minutes_pass(simulation: Simulation, workers: list[PullWorker], minutes: int = 30) -> None:
    """Ticks come, workers take and complete what there is."""
    for _ in range(minutes * 6):
        simulation.clock.advance(10)
        if simulation.clock.now() % 60_000 == 0:
            simulation.plan_ticks()
        simulation.dispatch()
        for worker in workers:
            worker.work_until_idle()


def in_a_world_with_a_job(world: World) -> tuple[Simulation, Record, PullWorker]:
    simulation = Simulation(world)
    return simulation, a_shell_job(simulation), a_worker(simulation, tenant=None)


@each_point(EFFECTS_OF_LEASE)
def test_a_lease_that_dies_loses_nothing(world: World, at: int, fault: Fault) -> None:
    simulation, run, worker = in_a_world_with_a_job(world)
    faults = Faults(at, fault)
    try:
        for lease in worker.lease(10, faults).leases:
            worker.complete(lease)
    except Crash:
        pass
    assert len(faults.seen) > at, "the fault was never reached"
    minutes_pass(simulation, [worker])
    stored = simulation.stored(run)
    assert stored.status is Status.SUCCEEDED
    assert stored.losses == (1 if fault is Fault.CRASH_AFTER else 0)


@each_point(EFFECTS_OF_SUCCESS)
def test_a_report_that_dies_is_said_again_and_the_run_ends_once(world: World, at: int, fault: Fault) -> None:
    simulation, run, worker = in_a_world_with_a_job(world)
    lease = worker.lease_one()
    faults = Faults(at, fault)
    try:
        worker.complete(lease, FINE, faults)
    except (Crash, Unavailable):
        worker.complete(lease)
    assert len(faults.seen) > at, "the fault was never reached"
    minutes_pass(simulation, [worker])
    stored = simulation.stored(run)
    assert (stored.status, stored.attempt, stored.losses) == (Status.SUCCEEDED, 1, 0)


@pytest.mark.slow
@each_point(EFFECTS_OF_TRYING_AGAIN)
@pytest.mark.parametrize("answer", [BROKEN, DIED, RELEASED], ids=["failed", "lost", "released"])
def test_a_report_of_a_failure_that_dies_for_good_loses_nothing(
    world: World, at: int, fault: Fault, answer: Answer
) -> None:
    simulation, run, worker = in_a_world_with_a_job(world)
    lease = worker.lease_one()
    faults = Faults(at, fault)
    with suppress(Crash, Unavailable):  # this worker never says anything again
        worker.complete(lease, answer, faults)
    assert len(faults.seen) > at, "the fault was never reached"
    minutes_pass(simulation, [a_worker(simulation)])
    stored = simulation.stored(run)
    assert stored.status is Status.SUCCEEDED
    assert stored.failures + stored.losses <= 1
    with pytest.raises(StaleAttempt):
        worker.complete(lease)


@each_point(2)
@pytest.mark.parametrize("way", ["by id", "all"])
def test_a_redrive_that_dies_loses_no_dead_letter(
    world: World, simulation: Simulation, at: int, fault: Fault, way: str
) -> None:
    worker = a_worker(simulation, tenant=None)
    runs = [a_shell_job(simulation) for _ in range(6)]
    for _ in runs:
        worker.complete(worker.lease_one(), FATAL)
    faults = Faults(at, fault)
    engine = simulation.engine(faults)
    try:
        if way == "all":
            redrive_matching(engine, "acme")
        else:
            redrive(engine, "acme", [run.run_id for run in runs])
    except (Crash, Unavailable):
        pass
    assert len(faults.seen) > at, "the fault was never reached"
    redrive_matching(world.engine, "acme")  # the operator asks again
    minutes_pass(simulation, [worker])
    for run in runs:
        stored = simulation.stored(run)
        assert (stored.status, stored.attempt) == (Status.SUCCEEDED, 2)


@each_point(1)
def test_a_hand_over_to_one_worker_that_dies_loses_nothing(world: World, at: int, fault: Fault) -> None:
    simulation, run, worker = in_a_world_with_a_job(world)
    theirs = a_worker(simulation)
    faults = Faults(at, fault)
    with suppress(Crash, Unavailable):
        assign_to_worker(simulation.engine(faults), "acme", run.run_id, theirs.worker_id)
    assert len(faults.seen) > at, "the fault was never reached"
    minutes_pass(simulation, [worker])  # the named worker never comes
    stored = simulation.stored(run)
    assert (stored.status, stored.attempt) == (Status.SUCCEEDED, 1)
