"""A world in memory and its API. A file whose tests need another one has fixtures of its own."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # the imports would slow the collection of tests that need none of it
    from tests.builders import World
    from tests.unit.api.kit import Api


@pytest.fixture
def world() -> "Iterator[World]":
    from tests.builders import a_world

    with a_world() as world:
        yield world


@pytest.fixture
def api(world: "World") -> "Api":
    from tests.unit.api.kit import Api

    return Api(world)
