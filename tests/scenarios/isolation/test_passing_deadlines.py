"""The deadline of a tick passes inside its passes. The next ticks continue there, and leave nothing behind."""

from onthedot.domain.deployment import Deployment
from onthedot.domain.runs.records import Status
from onthedot.schema import DEFAULT_POOL
from tests.builders import NOON, a_run
from tests.scenarios.kits.latency import Trouble
from tests.scenarios.kits.troubled_world import TickOutage, a_troubled_world

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


def test_a_redelivered_tick_that_finds_many_slots_slow_ends_before_its_time_out() -> None:
    """It looks for the claims of its first delivery in many watch slots."""
    with a_troubled_world(1, Deployment(shards=2, lookahead=3, history_days=7)) as troubled:
        troubled.services.troubles += [
            Trouble("store", NOON, NOON + HOUR, slow_ms=3 * SLOW_MS),
            Trouble("queues", NOON, NOON + 300_000, pool=DEFAULT_POOL),
        ]
        for number in range(10):
            a_run(troubled.clock).due_in(300 + number).pending().stored_in(troubled.world.store)
        troubled.let_pass(600)
        assert troubled.counts["sent_again"] > 0
        assert not troubled.errors
