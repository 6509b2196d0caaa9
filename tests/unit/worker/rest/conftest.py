"""The API of a world behind real HTTP, and a worker that is registered there."""

from collections.abc import Iterator

import pytest

from onthedot.worker.rest_source import RestWorkSource
from tests.builders import World
from tests.unit.api.kit import Api
from tests.unit.worker.kit import an_offer
from tests.unit.worker.rest.kit import a_source
from tests.unit.worker.world import ApiServer, a_passing_world, serving


@pytest.fixture
def world() -> Iterator[World]:
    with a_passing_world() as world:
        yield world


@pytest.fixture
def server(world: World) -> Iterator[ApiServer]:
    with serving(world) as server:
        yield server


@pytest.fixture
def source(server: ApiServer) -> RestWorkSource:
    source = a_source(server)
    source.register(an_offer())
    return source


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)
