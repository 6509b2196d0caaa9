"""The message of a record that cannot be read reaches a worker: DynamoDB claims such a run without reading it whole."""

import pytest

from onthedot.core.choices import Priority
from onthedot.core.ports import Deadline, RunMessage
from onthedot.core.records import Status
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.slots import SlotKind
from onthedot.jobs.explain_job import explain_job
from tests.builders import World
from tests.poison import UNREADABLE
from tests.scenarios.kits.poisoning import poison_slot, raw_fields
from tests.scenarios.kits.simulation import Simulation


@pytest.mark.parametrize("kind", UNREADABLE)
def test_a_worker_leaves_the_record_to_the_sweep_and_executes_the_others(
    world: World, simulation: Simulation, kind: str
) -> None:
    now = world.clock.now()
    bad = poison_slot(world, kind, SlotKind.WATCH, now + 120_000, shard=0)
    generation = raw_fields(world, bad)["generation"] or "none"
    message = RunMessage(bad, generation, now + 1_000, "bad", Priority.MEDIUM, DEFAULT_POOL)
    world.queues.send([message], Deadline.after(now, 1_000))
    runs = [simulation.submit(1 + n / 10) for n in range(5)]
    simulation.let_pass(300)
    for run in runs:
        assert simulation.target.times_of(run.run_id) == [run.nominal_at]
        assert simulation.status(run) is Status.SUCCEEDED
    assert simulation.target.times_of(bad) == []
    assert raw_fields(world, bad)["slot"] == "aside#0"
    assert "unreadable" in [reason.code for reason in explain_job(world.engine, "bad", bad).reasons]
