"""A world in real time, and its API behind real HTTP."""

import threading
from collections.abc import Iterator

import pytest

from tests.builders import World
from tests.unit.worker.kit import PATIENCE
from tests.unit.worker.world import ApiServer, a_passing_world, serving


@pytest.fixture
def world() -> Iterator[World]:
    with a_passing_world() as world:
        yield world
        for thread in threading.enumerate():
            if thread.name.startswith("poll-"):  # they read the world until their time is over
                thread.join(PATIENCE)


@pytest.fixture
def server(world: World) -> Iterator[ApiServer]:
    with serving(world) as server:
        yield server
