"""Fire times that a pause or an outage held up, when the job is then changed, cancelled or deleted."""

from collections.abc import Callable
from contextlib import suppress
from itertools import product

import pytest

from onthedot.core.errors import JobNotFound, Unavailable
from onthedot.core.records import Kind, Record, Status
from onthedot.core.slots import Deployment
from onthedot.engine import Engine
from onthedot.jobs.change import cancel_job, delete_job, resume_job
from onthedot.jobs.given_up import expected_times
from onthedot.jobs.run_extra import backfill
from onthedot.schedules.choices import DstPolicy, Gap
from onthedot.schedules.schedule import CronSchedule, Schedule, fires_between, skipped_between
from tests.builders import NOON, a_world
from tests.scenarios.kits.faults import Crash, Fault, Faults
from tests.scenarios.kits.outcomes import check_counts, problems
from tests.scenarios.kits.recurring import (
    change_schedule,
    cron,
    every,
    fired,
    pause,
    run_all,
    runs_of,
    skip_missed,
    submit,
)
from tests.scenarios.kits.simulation import Simulation

ONE_SHARD = Deployment(shards=1, lookahead=3, history_days=7)
MINUTELY, YEARLY = cron("* * * * *"), cron("0 0 1 1 *")
CRASHES = [fault for fault in Fault if fault is not Fault.MEANWHILE]
Act = Callable[[Engine, Record], object]

ACTS: dict[str, Act] = {
    "rescheduled": lambda engine, job: change_schedule(engine, job, YEARLY),
    "cancelled": lambda engine, job: cancel_job(engine, "acme", job.job_id),
    "deleted": lambda engine, job: delete_job(engine, "acme", job.job_id),
}


def held_up(simulation: Simulation, by: str, schedule: Schedule = MINUTELY, hours: float = 0.3) -> Record:
    """A job that has run for some minutes, and whose times then were missed for so long."""
    job = submit(simulation, schedule, run_all())
    simulation.let_pass(70)
    if by == "pause":
        pause(simulation, job)
        simulation.let_pass(180)  # the runs that were stamped ahead are skipped
    simulation.clock.advance(round(hours * 3_600))
    return job


def expected(simulation: Simulation, schedule: Schedule = MINUTELY) -> list[int]:
    return fires_between(schedule, NOON, simulation.clock.now() + 1, 10**7)


@pytest.mark.parametrize("by", ["pause", "outage"])
@pytest.mark.parametrize("what", ACTS)
def test_every_time_that_was_held_up_is_recorded_once(simulation: Simulation, by: str, what: str) -> None:
    job = held_up(simulation, by)
    times = expected(simulation)
    ACTS[what](simulation.world.engine, job)
    simulation.let_pass(200)
    assert problems(simulation, job, times) == []
    check_counts(simulation, job, times)
    ranges = [r for r in runs_of(simulation, job) if r.kind is Kind.SKIPPED_RANGE]
    assert [r.reason for r in ranges] == [f"the job was {_word(what)} before these missed times were settled"]
    assert simulation.world.store.get(job.run_id).given_up is None  # type: ignore[union-attr]


def _word(what: str) -> str:
    return "changed" if what == "rescheduled" else "stopped"


@pytest.mark.parametrize("what", ACTS)
def test_a_paused_job_whose_last_runs_lay_ahead_gives_them_up(simulation: Simulation, what: str) -> None:
    schedule = every(60, simulation)
    job = submit(simulation, schedule, run_all(), max_runs=3)
    simulation.let_pass(90)
    assert simulation.status(job) is Status.COMPLETED
    pause(simulation, job)
    simulation.let_pass(600)
    ACTS[what](simulation.world.engine, job)
    assert problems(simulation, job, expected(simulation, schedule)) == []
    check_counts(simulation, job, expected(simulation, schedule))
    assert len(fired(simulation, job)) == 1


@pytest.mark.parametrize("what", ACTS)
def test_a_completed_job_gives_up_nothing_behind_its_last_run(simulation: Simulation, what: str) -> None:
    schedule = every(60, simulation)
    job = submit(simulation, schedule, run_all(), max_runs=3)
    simulation.let_pass(90)
    ACTS[what](simulation.world.engine, job)
    simulation.let_pass(3_600)
    assert len(runs_of(simulation, job)) == 3
    assert problems(simulation, job, expected(simulation, schedule)[:3]) == []


@pytest.mark.parametrize("what", ACTS)
def test_a_pause_of_weeks_is_one_range_with_the_right_count(simulation: Simulation, what: str) -> None:
    job = held_up(simulation, "pause", hours=30 * 24)
    times = expected(simulation)
    runs = [r for r in runs_of(simulation, job) if r.kind is Kind.STAMPED]
    ACTS[what](simulation.world.engine, job)
    (one,) = [r for r in runs_of(simulation, job) if r.kind is Kind.SKIPPED_RANGE]
    assert (one.fire_time, one.skipped_until) == (times[len(runs)], times[-1])
    assert one.skipped_count == len(times) - len(runs) > 40_000


def test_times_that_were_backfilled_are_not_counted_as_given_up(simulation: Simulation) -> None:
    job = held_up(simulation, "outage", hours=1)
    times = expected(simulation)
    window = {"after": times[-20], "until": times[-10]}
    backfill(simulation.world.engine, "acme", job.job_id, **window, limit=10, priority=job.priority)
    ACTS["rescheduled"](simulation.world.engine, job)
    simulation.let_pass(200)
    assert problems(simulation, job, times) == []
    check_counts(simulation, job, times)


def test_a_time_that_clocks_jumped_over_is_given_up_too(simulation: Simulation) -> None:
    """The clocks of Sydney jump from 02:00 to 03:00 on 2026-10-04, and from there the job is held up."""
    schedule = Schedule(CronSchedule("30 2 * * *", "Australia/Sydney", DstPolicy(gap=Gap.SKIP)))
    gap = next(at for at in range(NOON, NOON + 400 * 86_400_000, 86_400_000) if _jumped(schedule, at))
    simulation.clock.advance((gap - NOON) // 1000 - 40 * 86_400)
    begun = simulation.clock.now()
    job = submit(simulation, schedule)
    pause(simulation, job)
    simulation.clock.advance(60 * 86_400)
    times = expected_times(schedule, begun, simulation.clock.now() + 1, 1_000)
    assert len(times) > len(fires_between(schedule, begun, simulation.clock.now() + 1, 1_000))
    ACTS["cancelled"](simulation.world.engine, job)
    assert problems(simulation, job, times) == []
    check_counts(simulation, job, times)


def _jumped(schedule: Schedule, at: int) -> bool:
    return bool(skipped_between(schedule, at, at + 86_400_000, 10))


EFFECTS = {"rescheduled": "ACTIVE", "cancelled": "CANCELLED", "deleted": "DELETED"}


@pytest.mark.parametrize("by", ["pause", "outage"])
@pytest.mark.parametrize("what", ACTS)
def test_the_effects_of_giving_up_are_all_known(by: str, what: str) -> None:
    with a_world(ONE_SHARD) as world:
        simulation = Simulation(world)
        job = held_up(simulation, by)
        counted = Faults()
        ACTS[what](simulation.engine(counted), job)
        status = "PAUSED" if (by, what) == ("pause", "rescheduled") else EFFECTS[what]
        assert counted.seen == [f"move to {status}", "create", f"move to {status}"]


@pytest.mark.parametrize("by", ["pause", "outage"])
@pytest.mark.parametrize("what", ACTS)
@pytest.mark.parametrize(("at", "fault"), list(product(range(3), CRASHES)))
def test_an_api_that_dies_while_it_gives_up_leaves_no_hole_and_no_doubled_time(
    at: int, fault: Fault, what: str, by: str
) -> None:
    with a_world(ONE_SHARD) as world:
        simulation = Simulation(world)
        job = held_up(simulation, by)
        times = expected(simulation)
        faults = Faults(at, fault)
        with suppress(Crash, Unavailable):
            ACTS[what](simulation.engine(faults), job)
        assert len(faults.seen) > at, "the fault was never reached"
        simulation.let_pass(200)
        stored = simulation.stored(job)
        assert stored.given_up is None
        if at == 0 and fault in (Fault.CRASH_BEFORE, Fault.CRASH_HALFWAY, Fault.AWAY):
            assert stored.schedule_version == job.schedule_version, "nothing happened"
            if by == "pause":
                resume_job(world.engine, "acme", job.job_id)
            simulation.let_pass(200)
        assert problems(simulation, job, times) == []
        if at > 0 or fault in (Fault.CRASH_AFTER, Fault.LOST_REPLY):
            check_counts(simulation, job, times)
            assert len(fired(simulation, job)) == 1


@pytest.mark.parametrize("by", ["pause", "outage"])
@pytest.mark.parametrize("what", ACTS)
@pytest.mark.parametrize("at", range(3))
def test_a_client_that_repeats_its_change_after_a_crash_doubles_no_time(at: int, what: str, by: str) -> None:
    with a_world(ONE_SHARD) as world:
        simulation = Simulation(world)
        job = held_up(simulation, by)
        times = expected(simulation)
        with pytest.raises(Crash):
            ACTS[what](simulation.engine(Faults(at, Fault.CRASH_AFTER)), job)
        with suppress(JobNotFound):
            ACTS[what](world.engine, job)
        simulation.let_pass(200)
        assert problems(simulation, job, times) == []
        check_counts(simulation, job, times)


@pytest.mark.parametrize("then", ["resumed", "rescheduled", "cancelled", "deleted"])
def test_a_job_that_is_changed_before_its_given_up_times_are_stored_forgets_none(then: str) -> None:
    with a_world(ONE_SHARD) as world:
        simulation = Simulation(world)
        job = held_up(simulation, "pause")
        first = expected(simulation)
        with pytest.raises(Crash):
            change_schedule(simulation.engine(Faults(0, Fault.CRASH_AFTER)), job, every(30, simulation))
        simulation.clock.advance(60)
        now = simulation.clock.now()
        if then == "resumed":
            resume_job(world.engine, "acme", job.job_id)
        else:
            ACTS[then](world.engine, job)
        assert problems(simulation, job, first) == []
        simulation.let_pass(300)
        second = [now - 30_000, now]
        assert problems(simulation, job, [*first, *second]) == []


@pytest.mark.parametrize("what", ACTS)
@pytest.mark.parametrize("at", range(3))
def test_a_tick_beside_the_change_doubles_no_time(at: int, what: str) -> None:
    with a_world(ONE_SHARD) as world:
        simulation = Simulation(world)
        job = held_up(simulation, "outage")
        times = expected(simulation)
        simulation.plan_ticks()
        ACTS[what](simulation.engine(Faults(at, Fault.MEANWHILE, simulation.dispatch)), job)
        simulation.let_pass(400)
        assert problems(simulation, job, times) == []
        check_counts(simulation, job, times)


@pytest.mark.parametrize("what", ACTS)
@pytest.mark.parametrize("at", range(2))
def test_a_change_in_the_middle_of_catching_up_leaves_no_hole(at: int, what: str) -> None:
    with a_world(ONE_SHARD) as world:
        simulation = Simulation(world)
        job = held_up(simulation, "outage")
        times = expected(simulation)
        simulation.plan_ticks()
        simulation.dispatch(Faults(at, Fault.MEANWHILE, lambda: ACTS[what](world.engine, job)))
        simulation.let_pass(400)
        assert problems(simulation, job, times) == []


def test_a_job_without_missed_times_is_changed_in_one_write(simulation: Simulation) -> None:
    job = submit(simulation, MINUTELY, skip_missed())
    simulation.let_pass(100)
    for act in (ACTS["rescheduled"], ACTS["cancelled"], ACTS["deleted"]):
        counted = Faults()
        act(simulation.engine(counted), job)
        assert len(counted.seen) == 1
