"""The deadline of a tick passes inside its passes. The next ticks continue there, and leave nothing behind."""

from onthedot.domain.deployment import Deployment
from onthedot.domain.runs.pass_progress import ShardProgress
from onthedot.domain.runs.records import Status
from onthedot.domain.runs.slots import bucket_of
from onthedot.ports import Deadline, Tick, TickLease
from onthedot.use_cases.dispatch.dispatch_due import dispatch_due
from tests.builders import NOON, a_run, a_world
from tests.scenarios.kits.latency import Trouble
from tests.scenarios.kits.simulation import Simulation
from tests.scenarios.kits.troubled_world import DISPATCHER_MS, SPARE_MS, TickOutage, a_troubled_world

HOUR = 3_600_000
SLOW_MS = 1_000
"""So slow that a tick of two shards has time for a part of the past hour only."""


def test_the_runs_of_an_hour_without_ticks_all_start_though_each_tick_runs_out_of_time() -> None:
    with a_troubled_world(1, Deployment(shards=2, lookahead=3, history_days=7)) as troubled:
        world = troubled.world
        runs = [a_run(world.clock).due_in(600 + 60 * n).pending().stored_in(world.store) for n in range(60)]
        troubled.outages.append(TickOutage(NOON, NOON + HOUR + 600_000))
        troubled.services.troubles.append(Trouble("store", NOON + HOUR, NOON + 4 * HOUR, slow_ms=SLOW_MS))
        troubled.let_pass(2 * 3600)
        assert troubled.counts["out_of_time"] > 0
        assert not troubled.errors
        ends = {run.run_id: world.store.get(run.run_id) for run in runs}
        assert {end.status for end in ends.values() if end is not None} == {Status.SUCCEEDED}
        assert {len(troubled.calls[run.run_id]) for run in runs} == {1}


def test_a_redelivered_tick_ends_before_its_time_out_though_each_slot_takes_long() -> None:
    """It looks for the claims of its first delivery in many watch slots."""
    with a_troubled_world(1, Deployment(shards=2, lookahead=3, history_days=7)) as troubled:
        troubled.services.troubles.append(Trouble("store", NOON, NOON + HOUR, slow_ms=3 * SLOW_MS))
        again = Tick(0, (0, 1), NOON - 100_000, "again", redelivered=True)
        deadline = Deadline.after(NOON, DISPATCHER_MS - SPARE_MS)
        counts = dispatch_due(troubled.engine(), troubled.world.progress, again, deadline)
        assert counts["out_of_time"] > 0
        assert troubled.clock.now() < NOON + DISPATCHER_MS


def test_runs_are_not_passed_after_a_clock_that_was_an_hour_ahead_was_set_back() -> None:
    """A tick with the wrong clock has put progress an hour after the present. Then there are no ticks for a while."""
    with a_world() as world:
        simulation = Simulation(world)
        lease = TickLease(tuple(range(world.deployment.shards)), "ahead", NOON)
        ahead = bucket_of(NOON) + 60
        progress = ShardProgress(fire=ahead, watch=ahead, deep=ahead, deep_until=ahead, early=ahead + 13)
        world.progress.begin(lease, NOON)
        world.progress.finish(lease, {}, dict.fromkeys(lease.shards, progress))
        simulation.let_pass(60)
        run = a_run(world.clock).due_in(300).pending().stored_in(world.store)
        simulation.let_pass(1_200, ticking=False)
        assert simulation.status(run) is Status.PENDING
        simulation.let_pass(120)
        assert simulation.status(run) is Status.SUCCEEDED
