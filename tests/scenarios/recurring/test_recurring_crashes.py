"""Kill a stamping at each of its effects, and change the job between any two of them."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import product

import pytest

from onthedot.core.errors import Unavailable
from onthedot.core.records import Kind, Record, Status
from onthedot.core.slots import Deployment
from onthedot.jobs.change import resume_job
from onthedot.schedules.schedule import Schedule, fires_between
from tests.builders import NOON, World, a_world
from tests.scenarios.kits.faults import Crash, Fault, Faults
from tests.scenarios.kits.recurring import (
    cancel,
    changed_to,
    cron,
    delete,
    every,
    fired,
    pause,
    pause_and_resume,
    run_all,
    runs_of,
    submit,
)
from tests.scenarios.kits.simulation import Simulation

ONE_SHARD = Deployment(shards=1, lookahead=3, history_days=7)
EFFECTS = ["begin the tick", "create_many", "move_many", "send", "write progress"]
CRASHES = [fault for fault in Fault if fault is not Fault.MEANWHILE]
MINUTELY, EVERY_FIFTH = cron("* * * * *"), cron("*/5 * * * *")


def about_to_stamp(world: World, schedule: Schedule | None = None) -> tuple[Simulation, Record]:
    """A job whose next tick stamps: it starts seven minutes from now, and three of them have gone by."""
    simulation = Simulation(world)
    start = NOON + 7 * 60_000
    chosen = schedule or replace(MINUTELY, start_at=start)
    job = submit(simulation, chosen, run_all())
    simulation.clock.advance(4 * 60)
    simulation.plan_ticks()
    return simulation, job


def test_the_effects_of_a_stamping_are_all_known() -> None:
    with a_world(ONE_SHARD) as world:
        simulation, _ = about_to_stamp(world)
        counted = Faults()
        simulation.dispatch(counted)
        assert counted.seen == EFFECTS


@pytest.mark.parametrize(("at", "fault"), list(product(range(len(EFFECTS)), CRASHES)))
def test_a_stamping_that_dies_loses_and_doubles_nothing(at: int, fault: Fault) -> None:
    with a_world(ONE_SHARD) as world:
        simulation, job = about_to_stamp(world)
        faults = Faults(at, fault)
        simulation.dispatch(faults)
        assert len(faults.seen) > at, "the fault was never reached"
        simulation.let_pass(15 * 60)
        recurrence = simulation.stored(job).recurrence
        assert recurrence is not None
        expected = fires_between(recurrence.schedule, NOON, simulation.clock.now() + 1, 100)
        assert fired(simulation, job) == expected


@pytest.mark.parametrize(("at", "fault"), list(product(range(4), CRASHES)))
def test_a_submit_that_dies_while_stamping_is_made_good_by_the_next_tick(at: int, fault: Fault) -> None:
    with a_world(ONE_SHARD) as world:
        simulation = Simulation(world)
        schedule = every(90, simulation)
        try:
            job = submit(simulation, schedule, run_all(), faults=Faults(at, fault))
        except (Crash, Unavailable):
            job = submit(simulation, schedule, run_all())  # the client tries again with the same key
        simulation.let_pass(900)
        starts = fired(simulation, job)
        assert len(starts) == len(fires_between(schedule, NOON, simulation.clock.now() + 1, 100))
        assert len({run_id for run_id, _, _ in simulation.target.calls}) == len(starts)


def change_away(simulation: Simulation, job: Record) -> None:
    changed_to(simulation, job, EVERY_FIFTH)


def change_away_and_back(simulation: Simulation, job: Record) -> None:
    changed_to(simulation, job, cron("30 3 1 1 *"))
    changed_to(simulation, job, MINUTELY)


MEANWHILE: dict[str, tuple[Callable[[Simulation, Record], None], Schedule | None]] = {
    "paused": (pause, None),
    "paused and resumed": (pause_and_resume, MINUTELY),
    "changed": (change_away, EVERY_FIFTH),
    "changed and changed back": (change_away_and_back, MINUTELY),
    "cancelled": (cancel, None),
    "deleted": (delete, None),
}


@pytest.mark.parametrize("what", MEANWHILE)
@pytest.mark.parametrize("at", range(len(EFFECTS)))
def test_a_job_changed_in_the_middle_of_its_stamping_fires_just_what_it_should(at: int, what: str) -> None:
    act, schedule = MEANWHILE[what]
    with a_world(ONE_SHARD) as world:
        simulation, job = about_to_stamp(world, replace(MINUTELY, start_at=NOON + 7 * 60_000))
        changed_at = simulation.clock.now()
        faults = Faults(at, Fault.MEANWHILE, lambda: act(simulation, job))
        simulation.dispatch(faults)
        assert len(faults.seen) > at
        simulation.let_pass(20 * 60)
        # A schedule changed to start earlier than the stamped window fires from the change on.
        if schedule is MINUTELY and what == "paused and resumed":
            expected = fires_between(MINUTELY, NOON + 7 * 60_000 - 1, simulation.clock.now() + 1, 100)
        elif schedule is None:
            expected = []
        else:
            expected = fires_between(schedule, changed_at, simulation.clock.now() + 1, 100)
        assert fired(simulation, job) == expected
        ended = (Status.SUCCEEDED, Status.SKIPPED)
        late = [r for r in runs_of(simulation, job) if r.kind is Kind.STAMPED and r.fire_time < changed_at + 900_000]
        assert {r.status for r in late} <= {*ended}


@pytest.mark.parametrize("what", ["paused", "changed", "cancelled", "deleted"])
@pytest.mark.parametrize("at", [0, 1])
def test_a_job_changed_around_a_start_is_before_it_or_after_it_as_a_whole(at: int, what: str) -> None:
    act, _ = MEANWHILE[what]
    with a_world(ONE_SHARD) as world:
        simulation = Simulation(world)
        job = submit(simulation, cron("1 12 * * *"))
        simulation.clock.advance(60)
        simulation.work(Faults(at, Fault.MEANWHILE, lambda: act(simulation, job)))
        (run,) = runs_of(simulation, job)
        # The job was read before the change, so the run counts as before it, and its status says so.
        assert run.status is Status.SUCCEEDED
        assert len(fired(simulation, job)) == 1


@pytest.mark.parametrize("fault", [Fault.LOST_REPLY, Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.AWAY])
def test_a_run_that_is_revived_is_sent_whatever_happens_to_the_reply(fault: Fault) -> None:
    """The run was skipped while its job was paused. The job is resumed before the grace is over."""
    with a_world(ONE_SHARD) as world:
        simulation = Simulation(world)
        job = submit(simulation, cron("3 12 * * *"), run_all())
        pause(simulation, job)
        simulation.clock.advance(3 * 60)
        simulation.work()
        assert [run.status for run in runs_of(simulation, job)] == [Status.SKIPPED]
        faults = Faults(2, fault)
        with suppress(Crash):
            resume_job(simulation.engine(faults), "acme", job.job_id)
        assert faults.seen[:3] == ["move to ACTIVE", "create_many", "move_many"]
        if fault is Fault.LOST_REPLY:
            assert faults.seen[3:] == ["move_many", "send"], "the revived run was sent at once"
        simulation.let_pass(10 * 60)
        assert len(fired(simulation, job)) == 1
