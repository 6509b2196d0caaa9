"""Healthy runs beside records, slots and pools that fail, and the checks that all scenarios of isolation share."""

from onthedot.core.ports import TickLease
from onthedot.core.records import Record
from onthedot.core.slots import bucket_of
from tests.builders import DEPLOYMENT, World
from tests.scenarios.kits.simulation import Simulation

FAR = 600
SHARDS = range(DEPLOYMENT.shards)


def healthy(simulation: Simulation) -> list[Record]:
    return [simulation.submit(FAR + n) for n in range(20)]


def all_on_time(simulation: Simulation, runs: list[Record]) -> bool:
    return all(simulation.target.times_of(run.run_id) == [run.nominal_at] for run in runs)


def assert_progress_goes_on(world: World) -> None:
    present = bucket_of(world.clock.now())
    progress = world.progress.begin(TickLease(tuple(SHARDS), "reader", 0), world.clock.now())
    assert progress is not None
    assert {shard: (one.fire, one.watch) for shard, one in progress.items()} == dict.fromkeys(
        SHARDS, (present, present)
    )
