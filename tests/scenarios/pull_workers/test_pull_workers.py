"""The life of a run on a pull worker: leased, kept, lost, handed back, run alone, found dead, run again."""

from itertools import pairwise

import pytest

from onthedot.core.choices import Priority, Requirements
from onthedot.core.errors import JobNotFound, StaleAttempt
from onthedot.core.ports import Answer
from onthedot.core.records import Status
from onthedot.jobs.change import cancel_job
from onthedot.jobs.redrive import redrive_matching
from onthedot.workers.lease import VISIBILITY_MS
from onthedot.workers.records import Resources
from onthedot.workers.registrations import find_worker
from onthedot.workers.report import keep_lease
from tests.builders import World
from tests.scenarios.kits.pulling import PullWorker, a_shell_job, a_worker
from tests.scenarios.kits.simulation import Simulation

BROKEN = Answer(ok=False, error="exit 1", error_class="exit_1")
DIED = Answer(ok=False, error="the handler's process died: signal 9", error_class="lost", lost=True)
RELEASED = Answer(ok=False, error="the worker was stopped", handed_back=True)
AFTER_LEASE = (VISIBILITY_MS + 1000) / 1000


def lost_by_killing(worker: PullWorker) -> None:
    """Take a run and never be heard of again, until another may take it back."""
    worker.lease_one()
    worker.simulation.clock.advance(AFTER_LEASE)
    assert worker.lease().leases == [], "this delivery takes the lost attempt back"


def test_a_run_is_never_leased_before_its_time(simulation: Simulation) -> None:
    run, worker = a_shell_job(simulation, 1.75), a_worker(simulation)
    assert worker.lease().leases == []
    simulation.clock.advance(1)
    lease = worker.lease_one()  # it came in the second before, and was held
    assert lease.run.started_at == run.fire_time


def test_heartbeats_keep_a_long_run_from_being_taken_back(simulation: Simulation) -> None:
    a_shell_job(simulation)
    worker, other = a_worker(simulation), a_worker(simulation)
    lease = worker.lease_one()
    for _ in range(30):
        simulation.clock.advance(10)
        worker.keep(lease)
        assert other.lease().leases == []
    simulation.plan_ticks()
    simulation.dispatch()  # the sweep looks, and leaves it alone
    assert worker.complete(lease).status is Status.SUCCEEDED


def test_a_worker_without_its_receipt_keeps_its_run_all_the_same(world: World, simulation: Simulation) -> None:
    run = a_shell_job(simulation)
    worker, other = a_worker(simulation), a_worker(simulation)
    lease = worker.lease_one()
    for _ in range(9):
        simulation.clock.advance(10)
        keep_lease(world.engine, "acme", run.run_id)
        assert other.lease().leases == []
    assert worker.complete(lease).status is Status.SUCCEEDED


def test_a_killed_worker_is_found_as_soon_as_its_lease_is_over_and_its_late_report_is_refused(
    simulation: Simulation,
) -> None:
    run = a_shell_job(simulation)
    dead, other = a_worker(simulation), a_worker(simulation)
    first = dead.lease_one()
    simulation.clock.advance(AFTER_LEASE)
    assert other.lease().leases == []
    second = other.lease_one()
    assert second.run.attempt == 2
    assert second.run.started_at is not None
    assert first.run.lease_until is not None
    assert second.run.started_at <= first.run.lease_until + 15_000
    with pytest.raises(StaleAttempt):
        dead.complete(first)
    with pytest.raises(StaleAttempt):
        dead.keep(first)
    assert other.complete(second).status is Status.SUCCEEDED
    with pytest.raises(StaleAttempt):
        dead.complete(first)
    stored = simulation.stored(run)
    assert [(a.outcome, a.error_class) for a in stored.attempts] == [("lost", "lost"), ("succeeded", None)]
    assert (stored.losses, stored.failures) == (1, 0)


def test_a_run_that_must_be_alone_brings_no_others_with_it(simulation: Simulation) -> None:
    run, worker = a_shell_job(simulation, priority=Priority.HIGH), a_worker(simulation)
    lost_by_killing(worker)
    for _ in range(5):
        a_shell_job(simulation, priority=Priority.HIGH)
    leases = worker.lease(4, idle=True).leases
    assert [lease.run.run_id for lease in leases] == [run.run_id]


def test_a_cancelled_run_that_finishes_all_the_same_has_succeeded(world: World, simulation: Simulation) -> None:
    run, worker = a_shell_job(simulation), a_worker(simulation)
    lease = worker.lease_one()
    cancel_job(world.engine, "acme", run.run_id)
    assert worker.complete(lease).status is Status.SUCCEEDED


@pytest.mark.parametrize("answer", [BROKEN, DIED, RELEASED, Answer(ok=False, error="no", retryable=False)])
def test_whatever_becomes_of_a_cancelled_attempt_it_is_not_tried_again(
    world: World, simulation: Simulation, answer: Answer
) -> None:
    run, worker = a_shell_job(simulation), a_worker(simulation)
    lease = worker.lease_one()
    cancel_job(world.engine, "acme", run.run_id)
    assert worker.complete(lease, answer).status is Status.CANCELLED


def test_only_what_fits_in_the_free_resources_is_taken(simulation: Simulation) -> None:
    big = a_shell_job(simulation, requirements=Requirements(cpu=3))
    small = a_shell_job(simulation, requirements=Requirements(cpu=1))
    worker = a_worker(simulation)
    leases = worker.lease(4, free=Resources(concurrency=4, cpu=2, memory_mb=100)).leases
    assert [lease.run.run_id for lease in leases] == [small.run_id]
    simulation.clock.advance(1)
    assert worker.lease_one().run.run_id == big.run_id


def test_what_this_worker_cannot_do_is_handed_to_one_that_can(simulation: Simulation) -> None:
    run = a_shell_job(simulation, requirements=Requirements(capabilities=("gpu",)))
    plain = a_worker(simulation)
    able = a_worker(simulation, capabilities=frozenset({"shell", "gpu"}))
    for _ in range(3):
        assert plain.lease().leases == [], "whoever polls the most does not keep it from the other"
    assert able.lease_one().run.run_id == run.run_id
    assert simulation.stored(run).attempt == 1, "it was never started for the other"


def test_one_that_was_told_and_does_not_come_is_not_waited_for(world: World, simulation: Simulation) -> None:
    run = a_shell_job(simulation, requirements=Requirements(capabilities=("gpu",)))
    plain = a_worker(simulation)
    told = a_worker(simulation, capabilities=frozenset({"shell", "gpu"}))
    assert plain.lease().leases == []
    assert find_worker(world.engine, "acme", told.worker_id).assigned == {run.run_id}
    simulation.clock.advance(61)  # silent: it is lost
    other = a_worker(simulation, capabilities=frozenset({"shell", "gpu"}))
    assert plain.lease().leases == []
    assert other.lease_one().run.run_id == run.run_id


def test_what_no_live_worker_can_do_rests_longer_each_time_and_keeps_nobody_from_the_others(
    simulation: Simulation,
) -> None:
    foreign = a_shell_job(simulation, requirements=Requirements(capabilities=("gpu",)))
    worker = a_worker(simulation)
    looks = 0
    for _ in range(300):
        simulation.clock.advance(1)
        ours = a_shell_job(simulation)
        done = worker.work_until_idle()
        assert done == [ours.run_id], "in the second in which it came"
        looks = simulation.world.queues.counts("pull", Priority.MEDIUM).in_flight
    assert looks == 1
    assert simulation.stored(foreign).attempt == 0
    able = a_worker(simulation, capabilities=frozenset({"shell", "gpu"}))
    for _ in range(61):
        simulation.clock.advance(1)
        if able.work_until_idle() == [foreign.run_id]:
            return
    pytest.fail("it was not found within a minute")


def test_a_tenants_worker_gets_its_own_runs_only_and_the_operators_gets_all(
    world: World, simulation: Simulation
) -> None:
    theirs, ours = a_shell_job(simulation, tenant="rival"), a_shell_job(simulation)
    worker, operators = a_worker(simulation), a_worker(simulation, tenant=None)
    assert [lease.run.run_id for lease in worker.lease(10).leases] == [ours.run_id]
    foreign = operators.lease_one()
    assert foreign.run.run_id == theirs.run_id
    with pytest.raises(JobNotFound):
        keep_lease(world.engine, "acme", theirs.run_id)
    assert operators.complete(foreign).status is Status.SUCCEEDED


def test_dead_letters_are_run_again_at_a_bounded_rate(world: World, simulation: Simulation) -> None:
    worker = a_worker(simulation)
    runs = [a_shell_job(simulation) for _ in range(12)]
    for _ in runs:
        worker.complete(worker.lease_one(), Answer(ok=False, error="bad", retryable=False))
    assert {simulation.status(run) for run in runs} == {Status.FAILED}
    again = redrive_matching(world.engine, "acme")
    assert (len(again.runs), again.refused, again.cursor) == (12, [], None)
    times = sorted(run.due_at for run in again.runs)
    assert all(later - earlier == 100 for earlier, later in pairwise(times))
    simulation.clock.advance(2)
    assert len(worker.work_until_idle()) == 12
    stored = simulation.stored(runs[0])
    assert (stored.status, stored.failures) == (Status.SUCCEEDED, 0)
    assert [attempt.outcome for attempt in stored.attempts] == ["failed", "succeeded"], "its history stays"
    assert world.engine.store.failed("acme", 20).items == []


@pytest.mark.slow
def test_a_run_whose_pool_has_no_worker_for_days_waits_cheaply_and_runs_when_one_comes(simulation: Simulation) -> None:
    run = a_shell_job(simulation)
    for _ in range(2 * 24 * 60):
        simulation.clock.advance(60)
        simulation.plan_ticks()
        simulation.dispatch()
    stored = simulation.stored(run)
    assert (stored.status, stored.resends) == (Status.DISPATCHED, 0)
    assert simulation.counts["waits"] < 60, "an hour apart, after some doubling"
    assert simulation.counts["left"] < 15, "no slot holds the progress back for long"
    assert simulation.counts["resent"] == 0
    assert a_worker(simulation).work_until_idle() == [run.run_id]
    assert simulation.status(run) is Status.SUCCEEDED
