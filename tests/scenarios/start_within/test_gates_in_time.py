"""Runs that wait at a gate for longer than they may."""

from collections.abc import Callable

import pytest

from onthedot.core.gate_names import GateId, gate_of_slot
from onthedot.core.ports import Deadline
from onthedot.core.records import Record, Status
from onthedot.gates.limits import GateLimits
from onthedot.gates.wake import wake_waiting
from tests.scenarios.kits.simulation import Simulation
from tests.scenarios.kits.start_within import JUST_LATE, WHY, WITHIN, assert_skipped, submit_within

STRIPE = GateId("acme", "stripe")
AT_GATE = f"{WHY}; it waited at gate stripe, because the gate was paused"


def put(simulation: Simulation, limits: GateLimits | None) -> None:
    simulation.world.gates.put("acme", "stripe", limits)


def waiting(simulation: Simulation, *within: int | None) -> list[Record]:
    """Runs that wait at a gate which is paused, in this order."""
    put(simulation, GateLimits(paused=True))
    runs = []
    for seconds in within:
        runs.append(submit_within(simulation, within=seconds, gates=("stripe",)))
        simulation.clock.advance(0.001)
    simulation.work()
    assert all(gate_of_slot(simulation.stored(run).slot) == STRIPE for run in runs)
    return runs


def wake_all(simulation: Simulation) -> None:
    wake_waiting(simulation.world.engine, STRIPE, Deadline.after(simulation.clock.now(), 10_000))
    simulation.work()


WAKES = pytest.mark.parametrize(
    "wakes", [wake_all, lambda simulation: simulation.let_pass(300)], ids=["a client raises the limits", "a tick looks"]
)
Wakes = Callable[[Simulation], None]


@WAKES
@pytest.mark.parametrize("limits", [GateLimits(in_flight=1), GateLimits(per_second=1), None])
def test_runs_that_waited_too_long_are_skipped_and_the_next_ones_go_on(
    simulation: Simulation, wakes: Wakes, limits: GateLimits | None
) -> None:
    *late, free = waiting(simulation, WITHIN, WITHIN, WITHIN, None)
    simulation.clock.advance(JUST_LATE)
    put(simulation, limits)
    wakes(simulation)
    simulation.let_pass(5)
    for run in late:
        assert_skipped(simulation, run, AT_GATE)
    assert simulation.status(free) is Status.SUCCEEDED


@WAKES
def test_a_run_that_waited_too_long_and_cannot_be_read_stops_no_other(simulation: Simulation, wakes: Wakes) -> None:
    damaged, late, free = waiting(simulation, WITHIN, WITHIN, None)
    with simulation.world.database.transaction() as connection:
        connection.execute("UPDATE runs SET definition = '{' WHERE run_id = ?", (damaged.run_id,))
    simulation.clock.advance(JUST_LATE)
    put(simulation, GateLimits(in_flight=1))
    wakes(simulation)
    simulation.let_pass(5)
    assert_skipped(simulation, late, AT_GATE)
    assert simulation.status(free) is Status.SUCCEEDED


def test_a_run_that_is_woken_in_time_and_started_late_is_skipped_and_the_next_one_goes_on(
    simulation: Simulation,
) -> None:
    late, free = waiting(simulation, WITHIN, None)
    simulation.clock.sleep_until(late.due_at + WITHIN * 1000)
    put(simulation, GateLimits(in_flight=1))
    wake_waiting(simulation.world.engine, STRIPE, Deadline.after(simulation.clock.now(), 10_000))
    assert simulation.status(late) is Status.DISPATCHED
    simulation.clock.advance(0.001)
    simulation.work()
    simulation.work()
    assert_skipped(simulation, late, AT_GATE)
    assert simulation.status(free) is Status.SUCCEEDED
