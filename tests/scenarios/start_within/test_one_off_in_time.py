"""A one-off run that has not started within its time is skipped with that reason, on each of its paths."""

from dataclasses import replace
from typing import Any, cast

import pytest

from onthedot.core import lifecycle
from onthedot.core.choices import Priority
from onthedot.core.pools import DEFAULT_POOLS, Pools
from onthedot.core.ports import Answer, Moved, RunStore
from onthedot.core.records import Record, Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.send import message_for
from onthedot.core.start import MayStart, Redeliver, check_before_start
from onthedot.jobs.change import change_job, pause_job, resume_job
from onthedot.jobs.changes import JobChange
from onthedot.jobs.redrive import redrive
from tests.builders import DEPLOYMENT, World, a_world, the_start_of
from tests.scenarios.kits.faults import Crash
from tests.scenarios.kits.simulation import Simulation
from tests.scenarios.kits.start_within import JUST_LATE, WHY, WITHIN, assert_skipped, submit_within

FAR = 400
FAILURE = Answer(ok=False, error="HTTP 503", retry_after_ms=600_000)


def test_a_run_starts_at_the_last_instant_and_not_after_it(simulation: Simulation) -> None:
    last, late = submit_within(simulation, 5), submit_within(simulation, 4.999)
    simulation.clock.advance(5 + WITHIN)
    simulation.work()
    assert simulation.target.times_of(last.run_id) == [last.due_at + WITHIN * 1000]
    assert simulation.status(last) is Status.SUCCEEDED
    assert_skipped(simulation, late)


def test_a_claimed_run_that_waits_in_its_queue_too_long_is_skipped(simulation: Simulation) -> None:
    run = submit_within(simulation, FAR)
    simulation.let_pass(FAR - 10)
    assert simulation.counts["claimed"] == 1
    simulation.clock.advance(10 + JUST_LATE)
    simulation.work()
    assert_skipped(simulation, run)


def test_a_run_that_is_claimed_late_after_an_outage_is_skipped(simulation: Simulation) -> None:
    late, free = submit_within(simulation, FAR), submit_within(simulation, FAR, None)
    simulation.clock.advance(FAR + 600)
    simulation.let_pass(120)
    assert simulation.counts["claimed"] == 2
    assert_skipped(simulation, late)
    assert simulation.status(free) is Status.SUCCEEDED


RETRIES: dict[str, tuple[Any, float]] = {
    "failed": (FAILURE, 660),
    "handed back": (Answer(ok=False, error="stopping", handed_back=True, retry_after_ms=300_000), 360),
    "lost": (Crash, 600),
    "lost process": (Answer(ok=False, error="killed", lost=True), 60),
}


@pytest.mark.parametrize("how", RETRIES)
def test_only_the_first_start_is_limited(how: str) -> None:
    answer, seconds = RETRIES[how]
    with a_world() as world:
        simulation = Simulation(world, [answer])
        run = submit_within(simulation, 5, within=1)
        simulation.let_pass(5 + seconds)
        first, second = simulation.target.times_of(run.run_id)
        assert first <= run.due_at + 1_000
        assert how == "lost process" or second > run.due_at + 1_000
        assert (simulation.status(run), simulation.stored(run).start_by) == (Status.SUCCEEDED, None)


def test_a_retry_that_is_changed_is_not_limited_again(world: World) -> None:
    simulation = Simulation(world, [FAILURE])
    run = submit_within(simulation)
    simulation.let_pass(5)
    change(world, run, JobChange(record={"start_within_seconds": 1}, priority=Priority.HIGH))
    simulation.let_pass(900)
    assert simulation.status(run) is Status.SUCCEEDED


def test_a_message_of_a_running_attempt_that_comes_late_ends_nothing(simulation: Simulation) -> None:
    run = submit_within(simulation)
    started = simulation.world.store.move(the_start_of(run, simulation.clock.now()))
    assert isinstance(started, Moved)
    assert started.run is not None
    simulation.clock.advance(JUST_LATE)
    simulation.world.store.move(lifecycle.extend_lease(started.run, simulation.clock.now()))
    simulation.work()
    assert simulation.status(run) is Status.RUNNING
    assert isinstance(simulation.verdicts[0], Redeliver)


def test_a_redriven_run_may_start_at_any_time(world: World) -> None:
    simulation = Simulation(world, [Answer(ok=False, error="HTTP 404", retryable=False)])
    run = submit_within(simulation)
    simulation.let_pass(5)
    simulation.clock.advance(86_400)
    assert len(redrive(world.engine, "acme", [run.run_id]).runs) == 1
    simulation.clock.advance(3_600)
    simulation.work()
    assert simulation.status(run) is Status.SUCCEEDED


def change(world: World, run: Record, wanted: JobChange) -> Record:
    return change_job(world.engine, "acme", run.job_id, lambda _, __: wanted, None)


def test_a_new_time_counts_and_so_does_a_new_limit(simulation: Simulation) -> None:
    moved, shorter, longer, freed, limited = (
        submit_within(simulation, within=within) for within in (WITHIN, 600, WITHIN, WITHIN, None)
    )
    world, now = simulation.world, simulation.clock.now()
    change(world, moved, JobChange(at=now + 30_000))
    change(world, shorter, JobChange(record={"start_within_seconds": WITHIN}))
    change(world, longer, JobChange(record={"start_within_seconds": 600}))
    change(world, freed, JobChange(record={"start_within_seconds": None}))
    change(world, limited, JobChange(record={"start_within_seconds": WITHIN}))
    simulation.clock.advance(JUST_LATE)
    simulation.work()
    runs = [moved, longer, freed]
    assert [simulation.status(run) for run in runs] == [Status.SUCCEEDED] * 3
    assert_skipped(simulation, shorter)
    assert_skipped(simulation, limited)


@pytest.mark.parametrize("delay", [0, FAR])
def test_a_paused_run_is_not_late_and_has_its_time_after_the_resume(simulation: Simulation, delay: float) -> None:
    engine = simulation.world.engine
    in_time, late = submit_within(simulation, delay), submit_within(simulation, delay)
    for run in (in_time, late):
        pause_job(engine, "acme", run.job_id)
    simulation.clock.advance(delay + 3_600)
    for run in (in_time, late):
        resume_job(engine, "acme", run.job_id)
    change(simulation.world, late, JobChange(record={"start_within_seconds": WITHIN - 1}))
    simulation.clock.advance(WITHIN)
    simulation.work()
    assert simulation.status(in_time) is Status.SUCCEEDED
    assert_skipped(simulation, late, WHY.replace(f"{WITHIN} s", f"{WITHIN - 1} s"))


def test_a_pause_that_ends_before_the_fire_time_changes_nothing(simulation: Simulation) -> None:
    run = submit_within(simulation, FAR)
    pause_job(simulation.world.engine, "acme", run.job_id)
    resume_job(simulation.world.engine, "acme", run.job_id)
    assert simulation.stored(run).start_by == run.due_at + WITHIN * 1000


class _NoReads:
    """A store from which a start must not read."""

    def get(self, run_id: str) -> Record | None:
        raise AssertionError(f"{run_id} was read")


@pytest.mark.parametrize("within", [None, WITHIN])
def test_a_run_in_time_is_started_without_a_read(simulation: Simulation, within: int | None) -> None:
    run = submit_within(simulation, within=within)
    engine = replace(simulation.world.engine, store=cast(RunStore, _NoReads()))
    assert check_before_start(engine, message_for(run)) == MayStart(None)


def test_a_run_that_is_not_in_a_queue_any_more_is_ended_by_the_sweep_and_not_sent(simulation: Simulation) -> None:
    run, free = submit_within(simulation), submit_within(simulation, within=None)
    simulation.world.queues.purge(DEFAULT_POOL, Priority.MEDIUM)
    simulation.let_pass(240)
    assert_skipped(simulation, run)
    assert simulation.status(free) is Status.SUCCEEDED
    assert (simulation.counts["expired"], simulation.counts["resent"]) == (1, 1)


@pytest.mark.parametrize("delay", [0, FAR])
def test_a_run_that_no_pool_can_run_is_skipped_when_its_time_is_over(delay: float) -> None:
    grpc_only = replace(DEFAULT_POOLS[0], capabilities=frozenset({"grpc"}))
    with a_world(replace(DEPLOYMENT, pools=Pools((grpc_only,)))) as world:
        simulation = Simulation(world)
        run, free = (submit_within(simulation, delay, within, pool="gone") for within in (WITHIN, None))
        simulation.let_pass(delay + 3_600)
        stored = simulation.stored(run)
        assert (stored.status, stored.reason, stored.slot) == (Status.SKIPPED, WHY, None)
        assert simulation.status(free) in (Status.PENDING, Status.DISPATCHED)
