"""A one-off job changed in the middle of its claim, its start and its finish: one or the other happens, whole."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from onthedot.core.errors import JobConflict
from onthedot.core.ports import Answer
from onthedot.core.records import Record, Status
from onthedot.core.slots import Deployment
from onthedot.jobs.change import change_job
from onthedot.jobs.changes import JobChange
from tests.builders import a_world
from tests.scenarios.kits.faults import Crash, Fault, Faults
from tests.scenarios.kits.recurring import cancel, delete, pause, pause_and_resume
from tests.scenarios.kits.simulation import Simulation

ONE_SHARD = Deployment(shards=1, lookahead=3, history_days=7)
FAR = 400
LATER_MS = 1_800_000


def move_later(simulation: Simulation, run: Record) -> None:
    later = run.fire_time + LATER_MS
    change_job(simulation.world.engine, "acme", run.job_id, lambda *_: JobChange(at=later), None)


# The change, the status of the job after it, and its fire time then, if it has one.
CHANGES: dict[str, tuple[Callable[[Simulation, Record], None], Status, int | None]] = {
    "paused": (pause, Status.PAUSED, None),
    "paused and resumed": (pause_and_resume, Status.SUCCEEDED, 0),
    "cancelled": (cancel, Status.CANCELLED, None),
    "deleted": (delete, Status.DELETED, None),
    "moved": (move_later, Status.SUCCEEDED, LATER_MS),
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.parametrize("at", [0, 1, 2], ids=["before the claim", "before the send", "before the progress"])
def test_a_change_in_the_middle_of_a_claim_wins_as_a_whole(at: int, what: str) -> None:
    act, status, fires_after = CHANGES[what]
    with a_world(ONE_SHARD) as world:
        simulation = Simulation(world)
        run = simulation.submit(FAR)
        simulation.clock.advance(180)
        simulation.plan_ticks()
        faults = Faults(at, Fault.MEANWHILE, lambda: act(simulation, run))
        simulation.dispatch(faults)
        simulation.let_pass(FAR + LATER_MS / 1000)
        assert simulation.status(run) is status
        expected = [] if fires_after is None else [run.fire_time + fires_after]
        assert simulation.target.times_of(run.run_id) == expected


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_just_before_a_start_wins_as_a_whole(what: str) -> None:
    act, status, fires_after = CHANGES[what]
    with a_world(ONE_SHARD) as world:
        simulation = Simulation(world)
        run = simulation.submit(1)
        simulation.clock.advance(1)
        simulation.work(Faults(0, Fault.MEANWHILE, lambda: act(simulation, run)))
        simulation.let_pass(LATER_MS / 1000 + 60)
        assert simulation.status(run) is status
        expected = [] if fires_after is None else [run.fire_time + fires_after]
        assert simulation.target.times_of(run.run_id) == expected


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_while_the_attempt_runs_comes_too_late_for_it(what: str) -> None:
    act, _, _ = CHANGES[what]
    with a_world(ONE_SHARD) as world:
        simulation = Simulation(world)
        run = simulation.submit(1)
        simulation.clock.advance(1)

        def too_late() -> None:
            with suppress(JobConflict):
                act(simulation, run)

        simulation.work(Faults(1, Fault.MEANWHILE, too_late))
        simulation.let_pass(LATER_MS / 1000 + 60)
        assert simulation.status(run) is (Status.DELETED if what == "deleted" else Status.SUCCEEDED)
        assert len(simulation.target.times_of(run.run_id)) == 1


def test_a_failed_attempt_that_was_asked_to_stop_is_not_tried_again() -> None:
    with a_world(ONE_SHARD) as world:
        simulation = Simulation(world, [Answer(ok=False, error="HTTP 500")] * 3)
        run = simulation.submit(1)
        simulation.clock.advance(1)
        simulation.work(Faults(1, Fault.MEANWHILE, lambda: cancel(simulation, run)))
        simulation.let_pass(600)
        stored = simulation.stored(run)
        assert (stored.status, stored.reason) == (Status.CANCELLED, "cancelled; HTTP 500")
        assert len(simulation.target.calls) == 1


def test_a_lost_attempt_that_was_asked_to_stop_is_not_tried_again() -> None:
    with a_world(ONE_SHARD) as world:
        simulation = Simulation(world, [Crash])
        run = simulation.submit(1)
        simulation.let_pass(3)
        assert simulation.status(run) is Status.RUNNING
        cancel(simulation, run)
        simulation.let_pass(300)
        assert simulation.status(run) is Status.CANCELLED
        assert len(simulation.target.calls) == 1
