"""A shop, incidents and one chromium for all tests in a browser.

The servers start when a test first asks for them, and live until the last test.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Protocol

import pytest
from playwright.sync_api import ViewportSize

from tests.browser.incidents.incident import Scene
from tests.browser.incidents.seeded import INCIDENTS, seeded
from tests.browser.incidents.targets import LATE_TICK
from tests.browser.kits.chromium import closed_at_the_end
from tests.browser.kits.console import DESKTOP, Console, open_console
from tests.browser.world.build import World, a_shop
from tests.browser.world.shop import Shop
from tests.e2e.homes import Api

_closed = pytest.fixture(scope="package", autouse=True)(closed_at_the_end)


@pytest.fixture(scope="session")
def shop_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, Shop]]:
    with a_shop(tmp_path_factory.mktemp("shop")) as opened:
        yield opened


@pytest.fixture
def world(shop_world: tuple[World, Shop]) -> World:
    return shop_world[0]


@pytest.fixture
def shop(shop_world: tuple[World, Shop]) -> Shop:
    return shop_world[1]


@pytest.fixture
def api(world: World, shop: Shop) -> Api:
    """The API as the shop's operator."""
    return world.api(shop.tokens["operator"])


@pytest.fixture(scope="session")
def incident_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, dict[str, Scene]]]:
    with seeded(tmp_path_factory.mktemp("incidents"), INCIDENTS) as opened:
        yield opened


@pytest.fixture(scope="session")
def late_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, dict[str, Scene]]]:
    with seeded(tmp_path_factory.mktemp("late"), [LATE_TICK], ONTHEDOT_WORLD_LATE="1") as opened:
        yield opened


class Opens(Protocol):
    """Opens the console of the shop."""

    def __call__(
        self, route: str | None = "/", theme: str = "light", size: ViewportSize = DESKTOP, role: str = "operator"
    ) -> Console: ...


class OpensIncident(Protocol):
    """Opens the console of an incident's tenant."""

    def __call__(self, name: str, route: str = "/jobs/{job}") -> Console: ...


@pytest.fixture
def console(world: World, shop: Shop) -> Iterator[Opens]:
    """Open the console of the shop. All its tabs are checked and closed at the end of the test."""
    with ExitStack() as stack:

        def opens(
            route: str | None = "/", theme: str = "light", size: ViewportSize = DESKTOP, role: str = "operator"
        ) -> Console:
            return stack.enter_context(open_console(world.server.url, shop.tokens[role], route, theme, size))

        yield opens


@pytest.fixture
def at_incident(incident_world: tuple[World, dict[str, Scene]]) -> Iterator[OpensIncident]:
    """Open the console of the tenant to whom an incident happened. `{job}` in a route stands for its job."""
    world, scenes = incident_world
    with ExitStack() as stack:

        def opens(name: str, route: str = "/jobs/{job}") -> Console:
            scene = scenes[name]
            token = scene.tokens["operator"]
            return stack.enter_context(open_console(world.server.url, token, route.format(job=scene.job)))

        yield opens
