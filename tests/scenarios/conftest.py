from collections.abc import Iterator

import pytest

from tests.builders import a_world
from tests.scenarios.kits.simulation import Simulation


@pytest.fixture
def simulation() -> Iterator[Simulation]:
    with a_world() as world:
        yield Simulation(world)
