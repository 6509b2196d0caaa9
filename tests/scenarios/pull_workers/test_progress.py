"""The progress of a run over its life: lost with its worker, begun anew by the next one, gone when it succeeds."""

import pytest

from onthedot.core.errors import StaleAttempt
from onthedot.core.progress import ProgressReport
from onthedot.core.records import Status
from onthedot.workers.lease import VISIBILITY_MS
from onthedot.workers.report import keep_lease
from tests.builders import World
from tests.scenarios.kits.pulling import a_shell_job, a_worker
from tests.scenarios.kits.simulation import Simulation

AFTER_LEASE = (VISIBILITY_MS + 1000) / 1000


def test_a_late_report_of_a_lost_attempt_is_not_taken_for_the_next_one(world: World, simulation: Simulation) -> None:
    run = a_shell_job(simulation)
    first, second = a_worker(simulation), a_worker(simulation)
    lost = first.lease_one()
    keep_lease(world.engine, "acme", run.run_id, 1, progress=ProgressReport(0.7, "most of it"))
    reported_at = simulation.clock.now()
    simulation.clock.advance(AFTER_LEASE)
    assert second.lease().leases == [], "this delivery takes the lost attempt back"
    assert simulation.stored(run).progress == ProgressReport(0.7, "most of it", reported_at)
    lease = second.lease_one()
    assert (lease.run.attempt, lease.run.progress) == (2, None)
    with pytest.raises(StaleAttempt):
        keep_lease(world.engine, "acme", run.run_id, lost.run.attempt, progress=ProgressReport(0.8))
    assert simulation.stored(run).progress is None
    for step in range(1, 4):
        simulation.clock.advance(10)
        keep_lease(world.engine, "acme", run.run_id, 2, progress=ProgressReport(step / 4))
    assert simulation.stored(run).progress == ProgressReport(0.75, None, simulation.clock.now())
    ended = second.complete(lease)
    assert (ended.status, ended.progress) == (Status.SUCCEEDED, None)
