"""The lives of recurring jobs: stamped ahead, fired once each, on the dot, and every time accounted for."""

import pytest

from onthedot.core.records import Status
from onthedot.schedules.choices import Misfire
from onthedot.schedules.schedule import jittered
from tests.builders import NOON
from tests.scenarios.kits.recurring import (
    cron,
    every,
    expected,
    fired,
    nominals,
    run_all,
    runs_of,
    skip_missed,
    skipped_count,
    submit,
)
from tests.scenarios.kits.simulation import Simulation


@pytest.mark.parametrize("seconds", [1, 5, 10, 45, 60, 90])
def test_a_job_fires_at_each_of_its_times_once_and_on_the_dot(simulation: Simulation, seconds: int) -> None:
    schedule = every(seconds, simulation)
    job = submit(simulation, schedule)
    simulation.let_pass(600)
    assert fired(simulation, job) == expected(simulation, schedule)
    assert nominals(simulation, job, Status.SUCCEEDED) == expected(simulation, schedule)


def test_all_fires_of_a_window_are_stamped_in_one_pass(simulation: Simulation) -> None:
    job = submit(simulation, every(10, simulation))
    simulation.let_pass(300)
    before = dict(simulation.counts)
    simulation.let_pass(60)
    assert simulation.counts["stamped"] - before["stamped"] == 6
    assert simulation.counts["advanced"] - before["advanced"] == 1
    assert simulation.stored(job).status is Status.ACTIVE


def test_a_cron_far_ahead_waits_in_its_fire_slot(simulation: Simulation) -> None:
    job = submit(simulation, cron("30 13 * * *"))
    assert runs_of(simulation, job) == []
    simulation.let_pass(2 * 3600)
    assert fired(simulation, job) == [NOON + 90 * 60_000]


def test_the_target_is_told_the_nominal_time_and_jitter_comes_after_it(simulation: Simulation) -> None:
    schedule = every(30, simulation, jitter_seconds=20)
    job = submit(simulation, schedule)
    simulation.let_pass(600)
    # Jittered fires of the last interval may still lie ahead.
    due = [jittered(job.job_id, at, 20) for at in expected(simulation, schedule)]
    assert fired(simulation, job) == [at for at in sorted(due) if at <= simulation.clock.now()]


def test_jitter_beyond_the_horizon_waits_in_a_fire_slot_of_its_own(simulation: Simulation) -> None:
    schedule = every(60, simulation, jitter_seconds=900)
    job = submit(simulation, schedule)
    simulation.let_pass(1_800)
    due = sorted(jittered(job.job_id, at, 900) for at in expected(simulation, schedule))
    assert fired(simulation, job) == [at for at in due if at <= simulation.clock.now()]


@pytest.mark.parametrize("limit", [1, 3, 50])
def test_a_job_with_max_runs_completes_after_just_so_many(simulation: Simulation, limit: int) -> None:
    job = submit(simulation, every(5, simulation), max_runs=limit)
    simulation.let_pass(600)
    assert len(fired(simulation, job)) == limit
    assert simulation.status(job) is Status.COMPLETED


def test_a_job_completes_at_its_end(simulation: Simulation) -> None:
    job = submit(simulation, every(60, simulation, end_at=NOON + 600_000))
    simulation.let_pass(1_200)
    assert len(fired(simulation, job)) == 10
    assert simulation.status(job) is Status.COMPLETED


def test_missed_times_of_an_outage_run_the_latest_and_record_the_rest(simulation: Simulation) -> None:
    schedule = every(60, simulation)
    job = submit(simulation, schedule)
    simulation.let_pass(600)
    before = len(fired(simulation, job))
    simulation.clock.advance(3 * 3600)
    back = simulation.clock.now()
    simulation.let_pass(600)
    caught_up = [at for at in fired(simulation, job)[before:] if at < back + 65_000]
    assert skipped_count(simulation, job) > 170
    assert len(caught_up) <= 8  # those in SQS already, the latest missed one, those within the grace, and the present
    accounted = len(nominals(simulation, job, Status.SUCCEEDED)) + skipped_count(simulation, job)
    assert accounted == len(expected(simulation, schedule))


@pytest.mark.parametrize("misfire", [run_all(), skip_missed()], ids=lambda m: m.policy)
def test_missed_times_of_an_outage_all_run_or_are_all_skipped_as_the_policy_says(
    simulation: Simulation, misfire: Misfire
) -> None:
    schedule = every(60, simulation)
    job = submit(simulation, schedule, misfire)
    simulation.let_pass(300)
    simulation.clock.advance(3 * 3600)
    simulation.let_pass(900)
    ran, skipped = nominals(simulation, job, Status.SUCCEEDED), skipped_count(simulation, job)
    assert len(ran) + skipped == len(expected(simulation, schedule))
    assert (skipped == 0) == (misfire == run_all())
    assert all("misfire" in (r.reason or "") for r in runs_of(simulation, job) if r.status is Status.SKIPPED)


def test_catching_up_does_not_delay_what_is_due_now(simulation: Simulation) -> None:
    submit(simulation, every(1, simulation), run_all())
    simulation.clock.advance(3 * 3600)
    near = simulation.submit(30)
    far = simulation.submit(400)
    simulation.let_pass(420)
    assert simulation.target.times_of(near.run_id) == [near.fire_time]
    assert simulation.target.times_of(far.run_id) == [far.fire_time]


def test_a_long_gap_of_a_frequent_job_is_one_record(simulation: Simulation) -> None:
    job = submit(simulation, every(1, simulation), skip_missed())
    simulation.clock.advance(3 * 3600)
    simulation.let_pass(90)
    ranges = [r for r in runs_of(simulation, job) if r.status is Status.SKIPPED]
    assert len(ranges) == 1
    assert (ranges[0].skipped_count or 0) > 10_000
