"""A viewer sees all views and their data, and no action: not a button, not a box to select with, not a key."""

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.kits.console import Console, open_console
from tests.browser.kits.views import VIEWS, View
from tests.browser.world.build import World
from tests.browser.world.shop import Shop

ACTS = re.compile(
    r"^(New|Create|Edit|Pause|Resume|Cancel|Delete|Run|Redrive|Set|Save|Review|Release|Retry|Bulk|Apply)\b|^Select\b"
)
KEYS = ("n", "j", "x", "Shift+X", "a", "b", "r", "p", "e")
"""Keys of actions and of selections."""
PREVIEW = "POST /v1/schedules/preview"
"""It reads, though it is a POST."""


def actions(console: Console) -> list[str]:
    """Return the names of the controls that act."""
    controls: list[Locator] = []
    for role in ("button", "link", "menuitem"):
        controls += console.page.get_by_role(role, name=ACTS).all()
    return [*(str(one.text_content()) for one in controls), *_boxes(console)]


def _boxes(console: Console) -> list[str]:
    return [str(box.get_attribute("aria-label")) for box in console.page.get_by_role("checkbox").all()]


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_viewer_sees_no_action(view: View, world: World, shop: Shop) -> None:
    with open_console(world.server.url, shop.tokens["viewer"], view.address(shop)) as console:
        expect(console.page.get_by_role("navigation", name="Main", exact=True)).to_contain_text("viewer")
        assert actions(console) == []
        for key in KEYS:
            console.page.keyboard.press(key)
        expect(console.page.get_by_role("dialog")).to_have_count(0)
        assert actions(console) == []
        console.page.wait_for_load_state("networkidle")
        wrote = [one for one in console.watch.requests if not one.startswith("GET ") and one != PREVIEW]
        assert wrote == [], "a viewer writes nothing"


def test_the_words_of_actions_are_those_that_an_operator_sees(world: World, shop: Shop) -> None:
    seen = {"/jobs/{settle_payouts}": "Run now", "/gates/stripe": "Pause", "/jobs?kind=recurring": "Select"}
    for route, action in seen.items():
        address = View("", route).address(shop)
        with open_console(world.server.url, shop.tokens["operator"], address) as console:
            assert any(action in one for one in actions(console)), route
