"""A pull worker gets the run that it can start, behind many messages of runs that have to wait at a gate."""

from collections.abc import Iterator

import pytest

from onthedot.core.records import Status
from onthedot.gates.limits import GateLimits
from tests.builders import a_world
from tests.scenarios.kits.pulling import a_shell_job, a_worker
from tests.scenarios.kits.simulation import Simulation


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    with a_world() as world:
        yield Simulation(world)


def test_one_lease_gets_behind_the_runs_of_a_stopped_gate(simulation: Simulation) -> None:
    simulation.world.gates.put("acme", "stripe", GateLimits(paused=True))
    waiting = [a_shell_job(simulation, gates=("stripe",)) for _ in range(30)]
    free = a_shell_job(simulation)
    worker = a_worker(simulation)
    assert worker.lease_one().run.run_id == free.run_id
    stored = [simulation.world.store.get(run.run_id) for run in waiting]
    assert {run.status for run in stored if run is not None} <= {Status.PENDING, Status.DISPATCHED}
