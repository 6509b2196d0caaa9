"""The plain life of one-off runs, whole paths in virtual time."""

import pytest

from onthedot.core.choices import Priority
from onthedot.core.errors import IdempotencyConflict
from onthedot.core.listing import failed_under
from onthedot.core.ports import Answer
from onthedot.core.records import Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.jobs.change import delete_job
from tests.builders import World
from tests.scenarios.kits.simulation import Simulation

FAILURE = Answer(ok=False, error="HTTP 503")


def test_a_near_job_goes_the_direct_path_and_fires_on_the_dot(simulation: Simulation) -> None:
    run = simulation.submit(3)
    assert run.status is Status.DISPATCHED
    simulation.let_pass(10, ticking=False)
    assert simulation.target.times_of(run.run_id) == [run.fire_time]
    assert simulation.status(run) is Status.SUCCEEDED


@pytest.mark.parametrize("delay", [301, 420.4, 600.5, 3601])
def test_a_far_job_is_claimed_by_a_tick_and_fires_on_the_dot(simulation: Simulation, delay: float) -> None:
    run = simulation.submit(delay)
    assert run.status is Status.PENDING
    simulation.let_pass(delay + 5)
    assert simulation.target.times_of(run.run_id) == [run.fire_time]
    assert simulation.counts["claimed"] == 1
    assert simulation.counts["sent_again"] == 0


def test_failures_are_retried_with_backoff_until_one_succeeds(world: World) -> None:
    simulation = Simulation(world, [FAILURE, FAILURE])
    run = simulation.submit(5)
    simulation.let_pass(60)
    first, second, third = simulation.target.times_of(run.run_id)
    assert (second - first, third - second) == (2_000, 4_000)
    stored = simulation.stored(run)
    assert (stored.status, stored.attempt, stored.failures) == (Status.SUCCEEDED, 3, 2)
    assert [attempt.outcome for attempt in stored.attempts] == ["failed", "failed", "succeeded"]


def test_a_retry_far_ahead_waits_in_its_fire_slot_and_is_claimed(world: World) -> None:
    simulation = Simulation(world, [Answer(ok=False, error="HTTP 503", retry_after_ms=3_600_000)])
    run = simulation.submit(1)
    simulation.let_pass(5)
    assert simulation.status(run) is Status.PENDING
    simulation.let_pass(3_600)
    first, second = simulation.target.times_of(run.run_id)
    assert second - first == 3_600_000
    assert simulation.status(run) is Status.SUCCEEDED


def test_exhausted_retries_end_as_a_dead_letter_with_the_cause(world: World) -> None:
    simulation = Simulation(world, [FAILURE] * 3)
    run = simulation.submit(1, retries=2)
    simulation.let_pass(60)
    stored = simulation.stored(run)
    assert (stored.status, stored.failures, stored.failed_under) == (
        Status.FAILED,
        3,
        failed_under("acme", run.run_id),
    )
    assert stored.reason == "3 of 3 attempts failed: HTTP 503"


@pytest.mark.parametrize("delay", [2, 400])
def test_a_deleted_job_never_fires(simulation: Simulation, delay: float) -> None:
    run = simulation.submit(delay)
    delete_job(simulation.world.engine, "acme", run.job_id)
    simulation.let_pass(delay + 300)
    assert simulation.target.calls == []
    assert simulation.status(run) is Status.DELETED


def test_the_same_key_and_body_is_the_same_job_and_is_sent_once(simulation: Simulation) -> None:
    first = simulation.submit(2, key="k")
    second = simulation.submit(2, key="k")
    assert second == first
    simulation.let_pass(10)
    assert len(simulation.target.calls) == 1


def test_the_same_key_with_another_body_is_a_conflict(simulation: Simulation) -> None:
    simulation.submit(2, key="k")
    with pytest.raises(IdempotencyConflict):
        simulation.submit(3, key="k")


def test_a_late_retry_of_a_create_does_not_resurrect_a_deleted_job(simulation: Simulation) -> None:
    run = simulation.submit(2, key="k")
    delete_job(simulation.world.engine, "acme", run.job_id)
    assert simulation.submit(2, key="k").status is Status.DELETED
    simulation.let_pass(300)
    assert simulation.target.calls == []


def test_a_purged_message_comes_back_by_the_sweep(simulation: Simulation) -> None:
    run = simulation.submit(5)
    simulation.world.queues.purge(DEFAULT_POOL, Priority.MEDIUM)
    simulation.let_pass(240)
    assert simulation.status(run) is Status.SUCCEEDED
    assert simulation.counts["resent"] == 1
    assert len(simulation.target.calls) == 1


def test_a_message_that_never_arrives_is_given_up_after_bounded_resends(simulation: Simulation) -> None:
    run = simulation.submit(5)
    for _ in range(6 * 60):
        simulation.world.queues.purge(DEFAULT_POOL, Priority.MEDIUM)
        simulation.clock.advance(60)
        simulation.plan_ticks()
        simulation.dispatch()
    stored = simulation.stored(run)
    assert stored.status is Status.FAILED
    assert "undeliverable" in (stored.reason or "")
    assert simulation.counts["resent"] == 6


def test_nothing_is_resent_while_the_queue_is_backlogged(simulation: Simulation) -> None:
    runs = [simulation.submit(5) for _ in range(3)]
    for _ in range(30):  # no worker takes a message
        simulation.clock.advance(60)
        simulation.plan_ticks()
        simulation.dispatch()
    assert simulation.counts["resent"] == 0
    assert simulation.counts["left"] > 0
    simulation.let_pass(5)
    assert [simulation.status(run) for run in runs] == [Status.SUCCEEDED] * 3
    assert len(simulation.target.calls) == 3


def test_an_outage_of_the_trigger_delays_but_loses_nothing(simulation: Simulation) -> None:
    runs = [simulation.submit(400 + n) for n in range(20)]
    simulation.clock.advance(7_200)
    simulation.let_pass(120)
    assert {simulation.status(run) for run in runs} == {Status.SUCCEEDED}
    assert len(simulation.target.calls) == 20
