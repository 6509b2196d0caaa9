"""Ending a run that was not started in time, while other processes move it."""

from collections.abc import Callable

import pytest

from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable
from onthedot.core.gate_names import GateId, waiting_slot
from onthedot.core.records import Record, Status
from onthedot.core.start import skip_expired
from onthedot.gates import run_moves
from tests.builders import the_start_of
from tests.scenarios.kits.faults import Fault, Faults
from tests.scenarios.kits.simulation import Simulation
from tests.scenarios.kits.start_within import JUST_LATE, submit_within

LIST = waiting_slot(GateId("acme", "stripe"), Priority.MEDIUM, 0)


def waiting_at_gate(simulation: Simulation) -> Record:
    """A run on the waiting list of a gate."""
    run = submit_within(simulation)
    now = simulation.clock.now()
    move = run_moves.wait(run.run_id, run.generation, LIST, now, gate="stripe", fresh_generation="parked")
    simulation.world.store.move(move)
    return simulation.stored(run)


def sent(simulation: Simulation) -> Record:
    return submit_within(simulation)


def wake(simulation: Simulation, run: Record) -> None:
    now, deployment = simulation.clock.now(), simulation.world.deployment
    simulation.world.store.move(run_moves.wake(run, now, deployment=deployment, woken="stripe"))


PLACES = pytest.mark.parametrize("made", [waiting_at_gate, sent])
Made = Callable[[Simulation], Record]


@PLACES
@pytest.mark.parametrize("fault", [Fault.LOST_REPLY, Fault.AWAY])
def test_a_lost_reply_is_a_success_and_a_failure_is_raised(simulation: Simulation, made: Made, fault: Fault) -> None:
    run = made(simulation)
    simulation.clock.advance(JUST_LATE)
    engine = simulation.engine(Faults(0, fault))
    if fault is Fault.AWAY:
        with pytest.raises(Unavailable):
            skip_expired(engine, run)
        assert simulation.status(run) is run.status
    else:
        assert skip_expired(engine, run)
        assert simulation.status(run) is Status.SKIPPED


def test_a_run_that_is_woken_or_started_meanwhile_is_left_alone(simulation: Simulation) -> None:
    waiting, started = waiting_at_gate(simulation), sent(simulation)
    simulation.clock.advance(JUST_LATE)
    wakes = Faults(0, Fault.MEANWHILE, lambda: wake(simulation, waiting))
    assert not skip_expired(simulation.engine(wakes), waiting)
    assert simulation.status(waiting) is Status.DISPATCHED
    starts = Faults(
        0, Fault.MEANWHILE, lambda: simulation.world.store.move(the_start_of(started, simulation.clock.now()))
    )
    assert not skip_expired(simulation.engine(starts), started)
    assert simulation.status(started) is Status.RUNNING
