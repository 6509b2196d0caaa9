"""A check before a start whose own write is answered as refused, because the first reply was lost, goes on."""

from dataclasses import replace

import pytest

from onthedot.core import lifecycle
from onthedot.core.gate_names import gate_of_slot, turn_gate
from onthedot.core.records import Record, Status
from onthedot.core.send import message_for
from onthedot.core.start import Done, MayStart, check_before_start, start_run
from onthedot.jobs.change import change_job
from onthedot.jobs.changes import JobChange
from onthedot.schedules.choices import OverlapPolicy
from tests.scenarios.kits.faults import Fault, Faults
from tests.scenarios.kits.recurring import every, runs_of, submit
from tests.scenarios.kits.simulation import Simulation

BOTH = pytest.mark.parametrize("faults", [None, 0], ids=["answered", "lost reply"], indirect=True)


def started(simulation: Simulation, run: Record) -> Record:
    """The run, started by a worker that is at work on it."""
    now = simulation.clock.now()
    simulation.world.store.move(lifecycle.start(run.run_id, run.generation, now=now, worker="w", attempt_token="t"))
    return simulation.stored(run)


@pytest.fixture
def faults(request: pytest.FixtureRequest) -> Faults:
    return Faults(request.param, Fault.LOST_REPLY)


@BOTH
def test_a_run_goes_on_the_list_of_runs_that_wait_for_their_turn(simulation: Simulation, faults: Faults) -> None:
    job = submit(simulation, every(20, simulation), overlap=OverlapPolicy.QUEUE)
    first, second = runs_of(simulation, job)[:2]
    simulation.clock.sleep_until(second.due_at)
    assert isinstance(check_before_start(simulation.world.engine, message_for(first)), MayStart)
    started(simulation, first)
    checked = check_before_start(simulation.engine(faults), message_for(second))
    assert checked == Done(f"overlap: waits for run {first.run_id}")
    assert faults.seen == ["change gate", "move to PENDING"]
    assert gate_of_slot(simulation.stored(second).slot) == turn_gate("acme", job.job_id)


@BOTH
def test_the_turn_of_a_run_is_not_taken_for_another_runs(simulation: Simulation, faults: Faults) -> None:
    job = submit(simulation, every(20, simulation), overlap=OverlapPolicy.QUEUE)
    first = runs_of(simulation, job)[0]
    simulation.clock.sleep_until(first.due_at)
    assert isinstance(check_before_start(simulation.engine(faults), message_for(first)), MayStart)
    assert simulation.stored(job).last_started_run == first.run_id


@BOTH
def test_a_run_whose_job_needs_another_pool_is_sent_there(simulation: Simulation, faults: Faults) -> None:
    job = submit(simulation, every(20, simulation))
    run = runs_of(simulation, job)[0]
    simulation.clock.sleep_until(run.due_at)
    assert job.definition is not None
    longer = JobChange(definition=replace(job.definition, timeout_seconds=600), pool="long")
    change_job(simulation.world.engine, "acme", job.job_id, lambda *_: longer, None)
    checked = check_before_start(simulation.engine(faults), message_for(run))
    assert checked == Done("its job now needs workers of pool long")
    assert (simulation.stored(run).pool, faults.seen) == ("long", ["move to DISPATCHED", "send"])


@pytest.mark.parametrize("at", [None, 1], ids=["answered", "lost reply"])
@pytest.mark.parametrize("losses", [0, lifecycle.MAX_LOSSES - 1], ids=["tried again", "lost for good"])
def test_a_lost_attempt_that_is_taken_over_is_sent_again(simulation: Simulation, at: int | None, losses: int) -> None:
    faults = Faults(at, Fault.LOST_REPLY)  # after the start, which is refused
    run = simulation.submit(0)
    started(simulation, run)
    move = lifecycle.extend_lease(simulation.stored(run), simulation.clock.now())
    simulation.world.store.move(replace(move, changes={**move.changes, "losses": losses}))
    simulation.clock.advance(33)
    assert start_run(simulation.engine(faults), message_for(run), "w2") == Done("lost attempt taken back")
    stored = simulation.stored(run)
    assert stored.losses == losses + 1
    if losses:
        assert (stored.status, "send" in faults.seen) == (Status.FAILED, False)
    else:
        assert (stored.status, faults.seen[-1]) == (Status.DISPATCHED, "send")
