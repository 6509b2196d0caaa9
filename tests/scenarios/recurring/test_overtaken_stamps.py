"""Stamps are sent after the advance of their job, and only if that was made."""

from collections.abc import Callable, Mapping

import pytest

from onthedot.core.schema import DEFAULT_POOL, PRIORITIES
from onthedot.engine import Engine
from onthedot.jobs.change import cancel_job, delete_job, pause_job
from tests.builders import World, a_world
from tests.scenarios.kits.faults import Fault, Faults
from tests.scenarios.kits.recurring import cron, submit
from tests.scenarios.kits.simulation import Simulation

CHANGES: Mapping[str, Callable[[Engine, str, str], object]] = {
    "paused": pause_job,
    "cancelled": cancel_job,
    "deleted": delete_job,
}


def messages(world: World) -> int:
    counts = [world.queues.counts(DEFAULT_POOL, priority) for priority in PRIORITIES]
    return sum(count.visible + count.delayed for count in counts)


@pytest.mark.parametrize("change", CHANGES)
def test_stamps_of_a_job_that_changed_before_its_advance_are_not_sent(
    world: World, simulation: Simulation, change: str
) -> None:
    job = submit(simulation, cron("*/10 * * * *"))
    simulation.clock.advance(7 * 60)
    simulation.plan_ticks()
    at = _position_of_the_advance()
    simulation.dispatch(
        Faults(at, Fault.MEANWHILE, meanwhile=lambda: CHANGES[change](world.engine, "acme", job.job_id))
    )
    assert (simulation.counts["stamped"], simulation.counts["overtaken"]) == (1, 1)
    assert messages(world) == 0


def _position_of_the_advance() -> int:
    """Return the number of the effect that advances the job, in a tick of the same kind."""
    with a_world() as world:
        simulation = Simulation(world)
        submit(simulation, cron("*/10 * * * *"))
        simulation.clock.advance(7 * 60)
        simulation.plan_ticks()
        counted = Faults()
        simulation.dispatch(counted)
        assert counted.seen.index("move_many") < counted.seen.index("send")
        return counted.seen.index("move_many")
