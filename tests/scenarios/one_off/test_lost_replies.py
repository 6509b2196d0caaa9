"""A worker whose finish was written, and whose reply was lost, knows its own write and goes on at once."""

from onthedot.core.ports import Answer
from onthedot.core.records import Status
from onthedot.core.start import Done
from tests.builders import World
from tests.scenarios.kits.family import Family
from tests.scenarios.kits.faults import Fault, Faults
from tests.scenarios.kits.simulation import Simulation

FINISH = 1
"""The finish is the second effect of an attempt, after the start."""


def test_a_retry_whose_reply_was_lost_is_sent_at_once_and_starts_on_time(world: World) -> None:
    simulation = Simulation(world, [Answer(ok=False, error="HTTP 500")])
    run = simulation.submit(1)
    simulation.clock.advance(1)
    simulation.work(Faults(FINISH, Fault.LOST_REPLY))
    parked = simulation.stored(run)
    assert simulation.verdicts == [Done("dispatched")]
    simulation.let_pass(30)
    assert simulation.target.times_of(run.run_id) == [run.nominal_at, parked.fire_at]


def test_an_end_whose_reply_was_lost_is_no_lost_attempt(simulation: Simulation) -> None:
    run = simulation.submit(1)
    simulation.clock.advance(1)
    simulation.work(Faults(FINISH, Fault.LOST_REPLY))
    assert simulation.verdicts == [Done("succeeded")]
    assert simulation.status(run) is Status.SUCCEEDED


def test_children_are_notified_at_once_when_the_reply_was_lost(world: World) -> None:
    family = Family(world)
    parent = family.job(delay_s=1)
    child = family.job(parent)
    family.clock.advance(1)
    family.work(Faults(FINISH, Fault.LOST_REPLY))
    assert family.status(child) is Status.DISPATCHED
