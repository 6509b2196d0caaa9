"""A large slot of recurring jobs is stamped and sent minutes ahead. A change of a job counts until its run starts."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from onthedot.core import tick
from onthedot.core.claim import Pass, claim_slot
from onthedot.core.ports import Deadline, Tick
from onthedot.core.records import Kind, Record, Status
from onthedot.core.slots import Deployment, SlotKind, bucket_of, slot_name
from onthedot.jobs.audit import audit_job
from tests.builders import NOON, a_world
from tests.scenarios.kits.recurring import cancel, changed_to, cron, fired, pause, resume, runs_of, submit
from tests.scenarios.kits.simulation import Simulation

ONE_SHARD = Deployment(shards=1, lookahead=3, history_days=7)
MINUTE = 60_000
FIRES = NOON + 16 * MINUTE
HOURLY = cron("16 * * * *")
EARLIER = cron("14 * * * *")


@pytest.fixture
def staged() -> Iterator[tuple[Simulation, Record]]:
    """A job of 12:16 that was claimed early, at 12:03."""
    with a_world(ONE_SHARD) as world:
        simulation = Simulation(world)
        job = submit(simulation, HOURLY)
        simulation.clock.advance(3 * 60 + 2)
        now = simulation.clock.now()
        work = Pass(world.engine, Tick(0, (0,), now, "t"), now, Deadline.after(now, 60_000), "t/1")
        assert claim_slot(work, slot_name(SlotKind.FIRE, 0, bucket_of(FIRES)), until=FIRES + MINUTE)
        yield simulation, job


def test_a_staged_run_is_sent_at_once_with_a_delay_that_the_queue_can_hold(
    staged: tuple[Simulation, Record],
) -> None:
    simulation, job = staged
    [run] = runs_of(simulation, job)
    assert (run.status, run.fire_time) == (Status.DISPATCHED, FIRES)
    assert run.slot == slot_name(SlotKind.WATCH, 0, bucket_of(FIRES) + 2)
    assert simulation.stored(job).due_at == FIRES + 60 * MINUTE
    visible_at = simulation.world.queues.next_visible_at(run.pool, run.priority)
    assert visible_at is not None
    assert FIRES - 1_000 <= visible_at <= FIRES
    assert visible_at - simulation.clock.now() <= 900_000


def pause_and_resume(simulation: Simulation, job: Record) -> None:
    pause(simulation, job)
    simulation.let_pass(60)
    resume(simulation, job)


def change(simulation: Simulation, job: Record) -> None:
    changed_to(simulation, job, EARLIER)


def change_and_back(simulation: Simulation, job: Record) -> None:
    changed_to(simulation, job, EARLIER)
    changed_to(simulation, job, HOURLY)


def leave(_: Simulation, __: Record) -> None:
    pass


ACTS: dict[str, tuple[Callable[[Simulation, Record], None], list[int]]] = {
    "left as it is": (leave, [FIRES]),
    "paused": (pause, []),
    "paused and resumed": (pause_and_resume, [FIRES]),
    "changed": (change, [FIRES - 2 * MINUTE]),
    "changed and changed back": (change_and_back, [FIRES]),
    "cancelled": (cancel, []),
}


@pytest.mark.parametrize("minutes", [0, 8, 10])
@pytest.mark.parametrize("what", ACTS)
def test_a_job_changed_after_it_was_staged_fires_just_what_it_should(
    staged: tuple[Simulation, Record], what: str, minutes: int
) -> None:
    simulation, job = staged
    act, expected = ACTS[what]
    simulation.let_pass(minutes * 60)
    act(simulation, job)
    simulation.let_pass((30 - minutes) * 60)
    assert fired(simulation, job) == expected
    report = audit_job(simulation.world.engine, simulation.stored(job), NOON, simulation.clock.now() - 5 * MINUTE)
    assert (report.holes, report.late) == ((), ())
    stamped = [run for run in runs_of(simulation, job) if run.kind is Kind.STAMPED]
    assert {run.status for run in stamped} <= {Status.SUCCEEDED, Status.SKIPPED}


def test_a_pause_that_ends_after_the_time_applies_the_misfire_policy(staged: tuple[Simulation, Record]) -> None:
    simulation, job = staged
    simulation.let_pass(5 * 60)
    pause(simulation, job)
    simulation.let_pass(20 * 60)
    resume(simulation, job)
    resumed = simulation.clock.now()
    simulation.let_pass(10 * 60)
    assert [at >= resumed for at in fired(simulation, job)] == [True], "run_latest runs the missed time once"
    report = audit_job(simulation.world.engine, simulation.stored(job), NOON, simulation.clock.now() - 5 * MINUTE)
    assert (report.expected, report.holes, report.late) == (1, (), ())


def test_a_tick_stages_a_large_slot_of_recurring_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tick, "LARGE_SLOT", 20)
    with a_world(ONE_SHARD) as world:
        simulation = Simulation(world)
        jobs = [submit(simulation, replace(HOURLY, end_at=FIRES + (60 + n) * MINUTE)) for n in range(20)]
        simulation.clock.advance(3 * 60)
        simulation.plan_ticks()
        simulation.dispatch()
        assert simulation.counts["claimed_early"] == 1
        assert [run.status for job in jobs for run in runs_of(simulation, job)] == [Status.DISPATCHED] * 20
        simulation.let_pass(20 * 60)
        assert sum(len(fired(simulation, job)) for job in jobs) == 20
        assert simulation.counts["sent"] == 20, "each run was sent once"
