"""Missed times beside stamps of a dispatcher that died, or of one that is slow: each time has one outcome."""

from dataclasses import dataclass, replace
from itertools import product

import pytest

from onthedot.core.choices import Priority
from onthedot.core.clock import VirtualClock
from onthedot.core.ids import is_scheduled
from onthedot.core.ports import Deadline
from onthedot.core.records import Kind, Record, Status
from onthedot.core.send import send_runs
from onthedot.core.slots import Deployment
from onthedot.core.stamp import stamp_jobs
from onthedot.jobs.audit import audit_job
from onthedot.jobs.run_extra import backfill
from onthedot.schedules.choices import Misfire, MisfirePolicy
from onthedot.schedules.schedule import fires_between
from tests.builders import NOON, World, a_world
from tests.scenarios.kits.faults import Fault, Faults
from tests.scenarios.kits.recurring import cron, fired, runs_of, submit
from tests.scenarios.kits.simulation import Simulation

ONE_SHARD = Deployment(shards=1, lookahead=3, history_days=7)
MINUTE = 60_000
MINUTELY = cron("* * * * *", start_at=NOON + 7 * MINUTE)
CRASHES = [fault for fault in Fault if fault not in (Fault.MEANWHILE, Fault.LOST_REPLY)]
POLICIES = list(MisfirePolicy)


def dies_before_the_advance() -> Faults:
    """The effects of a tick that stamps: begin, create_many, move_many (the advance), send, write progress."""
    return Faults(2, Fault.CRASH_BEFORE)


def a_job(world: World, policy: MisfirePolicy) -> tuple[Simulation, Record]:
    """A job whose next tick stamps its first time."""
    simulation = Simulation(world)
    job = submit(simulation, MINUTELY, Misfire(policy, 60))
    simulation.clock.advance(4 * 60)
    simulation.plan_ticks()
    return simulation, job


def check_outcomes(simulation: Simulation, job: Record) -> None:
    """The audit has no hole, and no time has a run and a skipped range, or two ranges.

    A run that lost against a range of another dispatcher says so, and did not run.
    """
    now = simulation.clock.now()
    report = audit_job(simulation.world.engine, simulation.stored(job), NOON, now - 5 * MINUTE)
    assert report.expected > 10
    assert (report.holes, report.late) == ((), ())
    records = runs_of(simulation, job)
    ranges = [record for record in records if record.kind is Kind.SKIPPED_RANGE]
    lost = [record for record in records if "another dispatcher" in (record.reason or "")]
    assert all(record.status is Status.SKIPPED and record.attempt == 0 for record in lost)
    times = [record.nominal_at for record in records if is_scheduled(record.run_id) and record not in lost]
    for record in ranges:
        covered = fires_between(MINUTELY, record.nominal_at - 1, (record.skipped_until or 0) + 1, 1_000)
        assert len(covered) == record.skipped_count
        times += covered
    assert len(times) == len(set(times)), "a time has two outcomes"
    ids = [run_id for run_id, _, _ in simulation.target.calls]
    assert len(ids) == len(set(ids))


def check_policy(simulation: Simulation, job: Record, policy: MisfirePolicy, missed: list[int]) -> None:
    """Only the runs that the policy wants have run of the times that were missed."""
    ran = [r.nominal_at for r in runs_of(simulation, job) if r.status is Status.SUCCEEDED and r.nominal_at in missed]
    assert ran == {MisfirePolicy.SKIP: [], MisfirePolicy.RUN_LATEST: missed[-1:], MisfirePolicy.RUN_ALL: missed}[policy]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_stamp_of_a_dead_tick_runs_only_if_the_policy_runs_its_missed_time(policy: MisfirePolicy) -> None:
    with a_world(ONE_SHARD) as world:
        simulation, job = a_job(world, policy)
        simulation.dispatch(dies_before_the_advance())
        assert [run.status for run in runs_of(simulation, job)] == [Status.DISPATCHED]
        simulation.clock.advance(20 * 60)
        missed = fires_between(MINUTELY, NOON, simulation.clock.now() - 60_000, 100)
        simulation.let_pass(25 * 60)
        check_outcomes(simulation, job)
        check_policy(simulation, job, policy, missed)


@pytest.mark.parametrize(("at", "fault", "policy"), list(product(range(1, 4), CRASHES, POLICIES)))
def test_a_tick_that_dies_over_missed_times_is_continued_after_another_outage(
    at: int, fault: Fault, policy: MisfirePolicy
) -> None:
    """Two outages: the tick between them dies at each of its effects."""
    with a_world(ONE_SHARD) as world:
        simulation, job = a_job(world, policy)
        simulation.dispatch(dies_before_the_advance())
        simulation.clock.advance(20 * 60)
        simulation.plan_ticks()
        simulation.dispatch(Faults(at, fault))
        simulation.clock.advance(17 * 60)
        simulation.let_pass(30 * 60)
        check_outcomes(simulation, job)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_of_a_missed_time_that_has_ended_stays_as_it_is(policy: MisfirePolicy) -> None:
    with a_world(ONE_SHARD) as world:
        simulation, job = a_job(world, policy)
        simulation.dispatch(dies_before_the_advance())
        send_runs(world.engine, runs_of(simulation, job), Deadline(simulation.clock.now()))
        simulation.clock.advance(3 * 60)
        simulation.work()
        assert [run.status for run in runs_of(simulation, job)] == [Status.SUCCEEDED]
        simulation.clock.advance(14 * 60)
        simulation.let_pass(25 * 60)
        check_outcomes(simulation, job)
        assert fired(simulation, job)[0] == NOON + 7 * MINUTE


@pytest.mark.parametrize(("at", "policy"), list(product(range(1, 4), POLICIES)))
def test_a_slow_dispatcher_with_an_old_plan_settles_no_time_twice(at: int, policy: MisfirePolicy) -> None:
    """Another dispatcher settles the missed times, minutes later, between two effects of the slow one."""
    with a_world(ONE_SHARD) as world:
        simulation, job = a_job(world, policy)

        def another() -> None:
            simulation.clock.advance(20 * 60)
            stamp_jobs(world.engine, [job.run_id], "another/1", Deadline.after(simulation.clock.now(), 60_000))

        slow = Faults(at, Fault.MEANWHILE, another)
        simulation.dispatch(slow)
        assert len(slow.seen) > at
        simulation.let_pass(25 * 60)
        check_outcomes(simulation, job)


@pytest.mark.parametrize(("at", "later", "policy"), list(product(range(1, 4), [0, 61], POLICIES)))
def test_two_dispatchers_over_missed_times_settle_none_twice(at: int, later: int, policy: MisfirePolicy) -> None:
    """Both find missed times. The second one is a minute later and would run and skip other times."""
    with a_world(ONE_SHARD) as world:
        simulation, job = a_job(world, policy)
        simulation.clock.advance(20 * 60)

        def another() -> None:
            simulation.clock.advance(later)
            stamp_jobs(world.engine, [job.run_id], "another/1", Deadline.after(simulation.clock.now(), 60_000))

        simulation.plan_ticks()
        simulation.dispatch(Faults(at, Fault.MEANWHILE, another))
        simulation.let_pass(25 * 60)
        check_outcomes(simulation, job)
        assert len(fired(simulation, job)) > 20


@pytest.mark.parametrize("policy", POLICIES)
def test_runs_that_a_client_backfills_over_missed_times_are_run_under_each_policy(policy: MisfirePolicy) -> None:
    """The backfill is paced, so a tick settles the missed times before most of its runs have started."""
    with a_world(ONE_SHARD) as world:
        simulation, job = a_job(world, policy)
        simulation.clock.advance(3 * 3_600 + 50)
        asked = {"after": NOON + 10 * MINUTE, "until": NOON + 160 * MINUTE, "limit": 150, "priority": Priority.LOW}
        made = backfill(world.engine, "acme", job.job_id, **asked).created  # type: ignore[arg-type]
        assert len(made) == 150
        simulation.let_pass(25 * 60)
        check_outcomes(simulation, job)
        assert {simulation.status(run) for run in made} == {Status.SUCCEEDED}


@pytest.mark.parametrize("at", range(3))
def test_a_time_that_was_missed_by_the_clock_of_one_dispatcher_only_has_one_outcome(at: int) -> None:
    """The slow dispatcher's clock is behind, so the time that the other one skips is not yet due for it."""
    with a_world(ONE_SHARD) as world:
        simulation = Simulation(world)
        job = submit(simulation, MINUTELY, Misfire(MisfirePolicy.SKIP, 0))
        simulation.clock.advance(7 * 60 - 0.5)

        def another() -> None:
            simulation.clock.advance(1.5)
            stamp_jobs(world.engine, [job.run_id], "another/1", Deadline.after(simulation.clock.now(), 60_000))

        faulty = simulation.engine(Faults(at, Fault.MEANWHILE, another))
        slow = replace(faulty, clock=ClockBehind(world.clock, 1_900))
        stamp_jobs(slow, [job.run_id], "slow/1", Deadline.after(simulation.clock.now(), 60_000))
        simulation.let_pass(25 * 60)
        check_outcomes(simulation, job)


@dataclass(frozen=True)
class ClockBehind:
    """The clock of a machine that is behind the others."""

    inner: VirtualClock
    by_ms: int

    def now(self) -> int:
        return self.inner.now() - self.by_ms

    def sleep_until(self, instant: int) -> None:
        self.inner.sleep_until(instant + self.by_ms)
