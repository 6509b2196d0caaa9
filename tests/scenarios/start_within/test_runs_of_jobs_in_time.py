"""Runs of recurring jobs and event jobs that must start within a time: stamped, extra, backfilled, by an event."""

import json
from dataclasses import replace

import pytest

from onthedot.core import lifecycle
from onthedot.core.choices import Priority
from onthedot.core.records import Kind, Record, Status
from onthedot.jobs.audit import audit_job
from onthedot.jobs.change import change_job, pause_job, resume_job
from onthedot.jobs.changes import JobChange
from onthedot.jobs.explain_job import explain_job
from onthedot.jobs.run_extra import BACKFILL_PACE_MS, backfill, run_now
from onthedot.schedules.choices import Misfire, MisfirePolicy, OverlapPolicy
from onthedot.schedules.schedule import Recurrence, Schedule
from tests.builders import NOON, World
from tests.scenarios.kits.eventful import ORDERS, Eventful, an_event
from tests.scenarios.kits.recurring import every, run_all, runs_of, skipped_count
from tests.scenarios.kits.simulation import Simulation
from tests.scenarios.kits.start_within import JUST_LATE, WHY, WITHIN, assert_skipped, submit_within


def recurring(
    simulation: Simulation,
    schedule: Schedule,
    within: int | None = WITHIN,
    misfire: Misfire | None = None,
    overlap: OverlapPolicy = OverlapPolicy.ALLOW,
) -> Record:
    recurrence = Recurrence(schedule, misfire or Misfire(), overlap, None)
    return submit_within(simulation, within=within, recurrence=recurrence)


def first_run(simulation: Simulation, job: Record) -> Record:
    return next(run for run in runs_of(simulation, job) if run.kind is Kind.STAMPED)


def assert_audited(simulation: Simulation, job: Record) -> None:
    """Check that each fire time up to now has a recorded outcome."""
    report = audit_job(simulation.world.engine, simulation.stored(job), NOON, simulation.clock.now())
    assert report is not None
    assert not report.holes


def test_a_stamped_run_starts_at_the_last_instant_and_not_after_it(simulation: Simulation) -> None:
    job = recurring(simulation, every(100, simulation))
    assert simulation.stored(job).start_by is None
    simulation.clock.advance(100 + WITHIN)
    simulation.work()
    first, second = runs_of(simulation, job)[:2]
    assert simulation.status(first) is Status.SUCCEEDED
    simulation.clock.sleep_until(second.due_at + WITHIN * 1000 + 1)
    simulation.work()
    assert_skipped(simulation, second)
    assert_audited(simulation, job)
    reasons = explain_job(simulation.world.engine, "acme", job.job_id).reasons
    assert any(WHY in reason.message for reason in reasons)


def test_the_time_counts_from_the_fire_time_with_its_jitter(simulation: Simulation) -> None:
    job = recurring(simulation, every(100, simulation, jitter_seconds=90))
    for run in runs_of(simulation, job):
        assert run.start_by == run.due_at + WITHIN * 1000


def test_a_run_that_waits_for_its_turn_too_long_is_skipped(simulation: Simulation) -> None:
    job = recurring(simulation, every(100, simulation), overlap=OverlapPolicy.QUEUE)
    first, second = runs_of(simulation, job)[:2]
    simulation.clock.sleep_until(first.due_at)
    now = simulation.clock.now()
    simulation.world.store.move(lifecycle.name_last_started(simulation.stored(job), first.run_id))
    simulation.world.store.move(lifecycle.start(first.run_id, first.generation, now=now, worker="w", attempt_token="t"))
    while simulation.clock.now() <= second.due_at + WITHIN * 1000 + 60_000:
        simulation.world.store.move(lifecycle.extend_lease(simulation.stored(first), simulation.clock.now()))
        simulation.let_pass(10)
    ended = lifecycle.succeed(simulation.stored(first), simulation.clock.now(), None, simulation.world.deployment)
    simulation.world.store.move(ended)
    simulation.let_pass(240)
    stored = simulation.stored(second)
    why = f"{WHY}; it waited for its turn among the runs of job {job.job_id}"
    assert (stored.status, stored.reason) == (Status.SKIPPED, why)


@pytest.mark.parametrize("policy", [MisfirePolicy.RUN_LATEST, MisfirePolicy.RUN_ALL, MisfirePolicy.SKIP])
def test_the_misfire_policy_and_the_limit_both_count_after_an_outage(
    simulation: Simulation, policy: MisfirePolicy
) -> None:
    job = recurring(simulation, every(600, simulation), misfire=Misfire(policy, 60))
    simulation.clock.advance(3 * 600 + 300)  # the third time was missed by five minutes
    simulation.let_pass(240)
    records = runs_of(simulation, job)
    assert simulation.target.calls == [], "a run of a missed time is too late"
    late = [record for record in records if record.reason == WHY]
    assert all(run.status is Status.SKIPPED and run.kind is Kind.STAMPED for run in late)
    missed = {MisfirePolicy.RUN_LATEST: 1, MisfirePolicy.RUN_ALL: 3, MisfirePolicy.SKIP: 0}[policy]
    assert (len(late), skipped_count(simulation, job)) == (missed, 3 - missed)
    assert_audited(simulation, job)
    simulation.let_pass(120)
    assert len(simulation.target.calls) == 1, "the next time is in time"


def test_a_missed_time_that_is_not_too_late_runs(simulation: Simulation) -> None:
    job = recurring(simulation, every(600, simulation), within=400)
    simulation.clock.advance(3 * 600 + 300)
    simulation.let_pass(60)
    assert [run.fire_time for run in runs_of(simulation, job) if run.status is Status.SUCCEEDED] == [NOON + 3 * 600_000]


def test_a_run_that_is_revived_after_a_pause_has_the_limit_that_its_job_has_then(simulation: Simulation) -> None:
    engine = simulation.world.engine
    job = recurring(simulation, every(100, simulation), misfire=run_all())
    run = first_run(simulation, job)
    simulation.clock.advance(90)
    pause_job(engine, "acme", job.job_id)
    simulation.clock.advance(10)
    simulation.work()
    assert simulation.stored(run).reason == lifecycle.PAUSED_WHY
    change_job(engine, "acme", job.job_id, lambda _, __: JobChange(record={"start_within_seconds": 30}), None)
    simulation.clock.advance(20)
    resume_job(engine, "acme", job.job_id)
    revived = simulation.stored(run)
    assert (revived.start_within_seconds, revived.start_by) == (30, run.due_at + 30_000)
    simulation.work()
    assert simulation.status(run) is Status.SUCCEEDED


def test_a_changed_limit_is_for_runs_that_are_made_after_it(simulation: Simulation) -> None:
    job = recurring(simulation, every(100, simulation))
    before = runs_of(simulation, job)
    change_job(
        simulation.world.engine, "acme", job.job_id, lambda _, __: JobChange(record={"start_within_seconds": 5}), None
    )
    simulation.let_pass(300)
    new = [run for run in runs_of(simulation, job) if run.run_id not in {one.run_id for one in before}]
    assert new
    assert {run.start_within_seconds for run in new} == {5}
    assert {simulation.stored(run).start_within_seconds for run in before} == {WITHIN}


@pytest.mark.parametrize("seconds", [WITHIN, JUST_LATE])
def test_an_extra_run_counts_from_now(simulation: Simulation, seconds: float) -> None:
    job = recurring(simulation, every(86_400, simulation))
    run = run_now(simulation.world.engine, "acme", job.job_id)
    simulation.clock.advance(seconds)
    simulation.work()
    if seconds == WITHIN:
        assert simulation.status(run) is Status.SUCCEEDED
    else:
        assert_skipped(simulation, run)


def test_a_backfilled_run_counts_from_its_paced_fire_time_and_not_from_its_old_time(simulation: Simulation) -> None:
    engine = simulation.world.engine
    schedule = replace(every(60, simulation), jitter_seconds=0)
    job = recurring(simulation, schedule)
    pause_job(engine, "acme", job.job_id)
    simulation.clock.advance(3_600)
    resume_job(engine, "acme", job.job_id)
    now = simulation.clock.now()
    result = backfill(engine, "acme", job.job_id, after=NOON, until=NOON + 1_200_000, limit=100, priority=Priority.LOW)
    assert len(result.created) > 5
    for number, run in enumerate(result.created[:3]):
        assert run.start_by is not None
        assert run.start_by - WITHIN * 1000 == run.due_at >= now + number * BACKFILL_PACE_MS
    last = result.created[-1]
    simulation.clock.sleep_until(result.created[0].due_at + WITHIN * 1000)
    simulation.work()
    simulation.work()
    assert simulation.status(result.created[0]) is Status.SUCCEEDED
    assert simulation.status(last) is Status.SUCCEEDED


@pytest.mark.parametrize("seconds", [WITHIN, JUST_LATE])
def test_the_run_of_an_event_counts_from_its_arrival(world: World, seconds: float) -> None:
    shop = Eventful(world)
    job = submit_within(shop, pattern=json.dumps(ORDERS))
    world.clock.advance(300)
    shop.tell(an_event())  # sent at noon, arrived five minutes later
    (run,) = shop.runs_of(job)
    assert run.fire_time < run.due_at
    world.clock.advance(seconds)
    shop.work()
    if seconds == WITHIN:
        assert shop.status(run) is Status.SUCCEEDED
    else:
        assert_skipped(shop, run)
