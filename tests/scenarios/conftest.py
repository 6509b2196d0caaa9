from collections.abc import Iterator

import pytest

from tests.builders import World, a_world
from tests.scenarios.kits.outages import StormySimulation
from tests.scenarios.kits.simulation import Simulation


@pytest.fixture
def world() -> Iterator[World]:
    with a_world() as made:
        yield made


@pytest.fixture
def simulation(world: World) -> Simulation:
    return Simulation(world)


@pytest.fixture
def storm(world: World) -> StormySimulation:
    return StormySimulation(world)
