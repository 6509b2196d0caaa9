"""Each view, in light and dark, on a phone and a desktop, has no violation of the rules of axe."""

import pytest

from tests.browser.kits.axe import axe_in_each_look
from tests.browser.kits.views import STATES, VIEWS, View, shown
from tests.browser.world.build import World
from tests.browser.world.shop import Shop


@pytest.mark.parametrize("view", [*VIEWS, *STATES], ids=lambda view: view.name)
def test_a_view_is_accessible_in_each_theme_and_size(view: View, world: World, shop: Shop) -> None:
    with shown(view, world, shop) as console:
        assert axe_in_each_look(console) == []
