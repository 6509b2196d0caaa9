"""A job that has ended is kept for as long as one of its runs needs it."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from onthedot.core import lifecycle
from onthedot.core.choices import Priority, RetryPolicy
from onthedot.core.ports import Answer, Deadline
from onthedot.core.records import Definition, Record, Status
from onthedot.core.slots import Deployment
from onthedot.core.stamp import stamp_jobs
from onthedot.jobs.change import change_job
from onthedot.jobs.changes import JobChange
from onthedot.jobs.redrive import redrive
from onthedot.jobs.run_extra import run_now
from onthedot.jobs.submit import JobRequest, submit_job
from onthedot.schedules.schedule import Recurrence
from onthedot.targets.types import ShellTarget
from tests.builders import a_world
from tests.scenarios.kits.faults import Faults
from tests.scenarios.kits.pulling import POOL, a_worker
from tests.scenarios.kits.recurring import cron, every, fired, runs_of, submit
from tests.scenarios.kits.simulation import Simulation

DAY = 86_400
KEPT = 14
"""Days that ended records are kept in these worlds."""
FAILS = Answer(ok=False, error="boom")


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    with a_world(Deployment(shards=1, lookahead=3, history_days=7)) as world:
        yield Simulation(world)


def a_completed_job(simulation: Simulation, retries: int = 0) -> Record:
    """A job whose only run lies just ahead, and whose retries are a day apart."""
    job = submit(simulation, every(60, simulation), max_runs=1)
    assert simulation.status(job) is Status.COMPLETED
    assert job.definition is not None
    policy = RetryPolicy(retries, backoff_seconds=DAY, factor=1, max_backoff_seconds=DAY, jitter=False)
    definition = replace(job.definition, retry=policy)
    change_job(simulation.world.engine, "acme", job.job_id, lambda *_: JobChange(definition=definition), None)
    return job


def let_days_pass(simulation: Simulation, days: float) -> None:
    """Let expired records be removed, as each create does."""
    simulation.clock.advance(days * DAY)
    simulation.submit(60)


def tick_daily(simulation: Simulation, days: int) -> None:
    for _ in range(days):
        let_days_pass(simulation, 1.01)
        simulation.plan_ticks()
        simulation.dispatch()
        simulation.work()


@pytest.mark.slow
def test_the_last_run_may_be_retried_for_longer_than_history_is_kept(simulation: Simulation) -> None:
    job = a_completed_job(simulation, retries=30)
    simulation.target.answers[:] = [FAILS] * 2_000
    simulation.let_pass(70)
    tick_daily(simulation, 20)
    simulation.target.answers.clear()
    tick_daily(simulation, 2)
    (run,) = runs_of(simulation, job)
    assert run.status is Status.SUCCEEDED
    assert len(fired(simulation, job)) > KEPT + 2
    assert simulation.status(job) is Status.COMPLETED


def test_a_dead_letter_can_be_redriven_until_it_expires(simulation: Simulation) -> None:
    job = a_completed_job(simulation)
    simulation.target.answers[:] = [FAILS]
    simulation.let_pass(70)
    (run,) = runs_of(simulation, job)
    assert run.status is Status.FAILED
    let_days_pass(simulation, KEPT - 0.5)
    assert len(redrive(simulation.world.engine, "acme", [run.run_id]).runs) == 1
    simulation.target.answers[:] = [FAILS]
    simulation.let_pass(10)
    let_days_pass(simulation, KEPT - 0.5)
    assert len(redrive(simulation.world.engine, "acme", [run.run_id]).runs) == 1
    simulation.let_pass(10)
    assert simulation.status(run) is Status.SUCCEEDED


def test_an_ended_job_that_is_not_needed_expires(simulation: Simulation) -> None:
    job = a_completed_job(simulation)
    simulation.let_pass(70)
    let_days_pass(simulation, KEPT + 3)
    assert simulation.world.store.get(job.run_id) is None


def test_a_run_on_demand_keeps_its_ended_one_off_job(simulation: Simulation) -> None:
    job = simulation.submit(1)
    simulation.let_pass(5)
    let_days_pass(simulation, KEPT - 0.5)
    simulation.target.answers[:] = [FAILS, FAILS, FAILS, FAILS]
    run = run_now(simulation.world.engine, "acme", job.job_id)
    simulation.let_pass(60)
    assert simulation.status(run) is Status.FAILED
    let_days_pass(simulation, KEPT - 0.5)
    assert len(redrive(simulation.world.engine, "acme", [run.run_id]).runs) == 1
    simulation.let_pass(5)
    assert simulation.status(run) is Status.SUCCEEDED


def test_the_start_of_a_run_soon_after_the_end_of_its_job_writes_the_job_not_at_all(simulation: Simulation) -> None:
    a_completed_job(simulation)
    simulation.clock.advance(60)
    counted = Faults()
    simulation.work(counted)
    assert counted.seen == ["move to RUNNING", "move to SUCCEEDED"]


def test_a_redrive_says_that_the_job_has_expired(simulation: Simulation) -> None:
    job = a_completed_job(simulation)
    simulation.target.answers[:] = [FAILS]
    simulation.let_pass(70)
    (run,) = runs_of(simulation, job)
    # A job that an older version ended expires with its run, or before it.
    stored = simulation.stored(job)
    shorter = lifecycle.keep_for_run(replace(stored, expires_at=0), simulation.clock.now(), simulation.world.deployment)
    assert shorter is not None
    soon = simulation.clock.now() // 1000 + 10
    expect = replace(shorter.expect, equals={"expires_at": stored.expires_at})
    simulation.world.store.move(replace(shorter, expect=expect, changes={"expires_at": soon}))
    simulation.clock.advance(20)
    simulation.submit(60)
    done = redrive(simulation.world.engine, "acme", [run.run_id])
    assert done.refused == [(run.run_id, "it would be skipped: its job is gone: deleted, or expired")]
    assert simulation.status(run) is Status.FAILED


def test_a_run_that_waits_for_a_worker_keeps_its_job(simulation: Simulation) -> None:
    job = a_completed_job(simulation)
    for _ in range(KEPT + 6):  # no worker comes, and messages wait
        let_days_pass(simulation, 1)
        for _ in range(2):
            simulation.plan_ticks()
            simulation.dispatch()
            simulation.clock.advance(60)
    assert simulation.status(job) is Status.COMPLETED
    simulation.let_pass(10)
    (run,) = runs_of(simulation, job)
    assert run.status is Status.SUCCEEDED


def test_a_run_whose_message_is_hidden_from_other_tenants_workers_keeps_its_job(simulation: Simulation) -> None:
    """The sweep sends the run again and again, because no message of it is visible."""
    definition = Definition(ShellTarget(("true",)))
    recurrence = Recurrence(every(60, simulation), max_runs=1)
    request = JobRequest(definition, "same", Priority.MEDIUM, POOL, recurrence=recurrence)
    job = submit_job(simulation.world.engine, "rival", request)
    assert simulation.status(job) is Status.COMPLETED
    for _ in range(KEPT + 6):
        let_days_pass(simulation, 1)
        ours = a_worker(simulation)
        assert ours.lease(10).leases == []
        for _ in range(2):
            simulation.plan_ticks()
            simulation.dispatch()
            simulation.clock.advance(60)
            assert ours.lease(10).leases == []
    assert simulation.counts["resent"] > KEPT
    simulation.clock.advance(60)
    (run,) = runs_of(simulation, job)
    assert a_worker(simulation, tenant="rival").work_until_idle() == [run.run_id]


@pytest.mark.parametrize("status", [Status.PENDING, Status.DISPATCHED])
def test_a_run_whose_pool_and_job_are_gone_ends(simulation: Simulation, status: Status) -> None:
    """Without the job nothing says what the run is to do, so it must not wait for a pool forever."""
    engine = simulation.world.engine
    job = submit(simulation, cron("* * * * *", start_at=simulation.clock.now() + 7 * 60_000))
    simulation.clock.advance(4 * 60)
    deadline = Deadline.after(simulation.clock.now(), 60_000)
    stamp_jobs(engine, [job.run_id], "tick/1", deadline, lambda _: status is Status.DISPATCHED)
    assert {run.status for run in runs_of(simulation, job)} == {status}
    with simulation.world.database.transaction() as connection:
        connection.execute("UPDATE runs SET pool = 'removed'")
        connection.execute("DELETE FROM runs WHERE run_id = ?", (job.run_id,))
    for _ in range(40):
        simulation.clock.advance(60)
        simulation.plan_ticks()
        simulation.dispatch()
    assert {(run.status, run.slot) for run in runs_of(simulation, job)} == {(Status.SKIPPED, None)}
