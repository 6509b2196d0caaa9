"""Runs of pull workers and assigned runs that must start within a time."""

import pytest

from onthedot.core.choices import Requirements
from onthedot.core.records import Definition, Record, Status
from onthedot.schedules.schedule import Recurrence
from onthedot.targets.types import ShellTarget
from onthedot.workers.assign import assign_to_worker
from tests.scenarios.kits.pulling import POOL, PullWorker, a_worker
from tests.scenarios.kits.recurring import every
from tests.scenarios.kits.simulation import Simulation
from tests.scenarios.kits.start_within import JUST_LATE, WHY, WITHIN, assert_skipped, submit_within

SHELL = Definition(ShellTarget(("true",)))
GPU = Definition(ShellTarget(("true",)), requirements=Requirements(capabilities=("gpu",)))


def a_job(simulation: Simulation, delay_s: float = 0, definition: Definition = SHELL) -> Record:
    return submit_within(simulation, delay_s, definition=definition, pool=POOL)


@pytest.mark.parametrize("seconds", [WITHIN, JUST_LATE])
def test_a_pull_worker_starts_no_run_that_is_too_late(simulation: Simulation, seconds: float) -> None:
    worker = a_worker(simulation)
    run = a_job(simulation)
    simulation.clock.advance(seconds)
    if seconds == WITHIN:
        assert worker.work_until_idle() == [run.run_id]
    else:
        assert worker.lease().leases == []
        assert_skipped(simulation, run)


def test_a_worker_that_cannot_take_the_run_ends_it_all_the_same(simulation: Simulation) -> None:
    worker = a_worker(simulation)
    run = a_job(simulation, definition=GPU)
    assert worker.lease().leases == []
    assert simulation.status(run) is Status.DISPATCHED
    simulation.clock.advance(JUST_LATE)
    assert worker.lease().leases == []
    assert_skipped(simulation, run)


def started_after(simulation: Simulation, worker: PullWorker, seconds: float) -> list[str]:
    simulation.clock.advance(seconds)
    worker.beat()
    return worker.work_until_idle()


@pytest.mark.parametrize("seconds", [WITHIN, JUST_LATE])
def test_an_assigned_run_counts_from_its_assignment(simulation: Simulation, seconds: float) -> None:
    worker = a_worker(simulation)
    job = submit_within(simulation, definition=SHELL, pool=POOL, recurrence=Recurrence(every(86_400, simulation)))
    run = assign_to_worker(simulation.world.engine, "acme", job.job_id, worker.worker_id)
    assert started_after(simulation, worker, seconds) == ([run.run_id] if seconds == WITHIN else [])
    if seconds != WITHIN:
        assert_skipped(simulation, run)
        assert worker.lease().leases == []


@pytest.mark.parametrize("seconds", [WITHIN, JUST_LATE])
def test_a_waiting_one_off_job_that_is_assigned_counts_from_its_assignment(
    simulation: Simulation, seconds: float
) -> None:
    worker = a_worker(simulation)
    run = a_job(simulation)
    simulation.clock.advance(WITHIN - 1)
    worker.beat()
    assert assign_to_worker(simulation.world.engine, "acme", run.job_id, worker.worker_id).run_id == run.run_id
    assert started_after(simulation, worker, seconds) == ([run.run_id] if seconds == WITHIN else [])
    if seconds != WITHIN:
        assert (simulation.stored(run).status, simulation.stored(run).reason) == (Status.SKIPPED, WHY)
