"""Each view, in light and dark, on a phone and a desktop, has no violation of the rules of axe."""

import pytest

from tests.browser.kits.axe import axe
from tests.browser.kits.console import SIZES, THEMES
from tests.browser.kits.views import STATES, VIEWS, View, shown
from tests.browser.world.build import World
from tests.browser.world.shop import Shop


@pytest.mark.parametrize("view", [*VIEWS, *STATES], ids=lambda view: view.name)
def test_a_view_is_accessible_in_each_theme_and_size(view: View, world: World, shop: Shop) -> None:
    found = {}
    with shown(view, world, shop) as console:
        for size_name, size in SIZES.items():
            for theme in THEMES:
                console.look(theme, size)
                found[f"{view.name} {theme} {size_name}"] = axe(console.page)
                overflow = console.page.evaluate("document.documentElement.scrollWidth - innerWidth")
                assert overflow <= 0, f"the page is {overflow} px wider than a {size_name}"
    assert found == {key: [] for key in found}
