"""The token: asked for, checked, kept in the tab alone, and asked for again when it is no longer valid."""

import re

from playwright.sync_api import Page, expect

from tests.browser.kits.console import open_console
from tests.browser.world.build import World
from tests.browser.world.shop import TENANT, Shop

REFUSED = "status of 401"


def paste(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Continue").click()


def test_a_reader_without_a_token_is_asked_and_then_goes_where_the_link_leads(world: World, shop: Shop) -> None:
    with open_console(world.server.url, None, "/gates") as console:
        page = console.page
        console.watch.allow(REFUSED)
        expect(page.get_by_role("heading", level=1)).to_have_text("Paste your token")
        expect(page.get_by_label("Token")).to_be_focused()
        paste(page, "otd_wrong")
        expect(page.get_by_role("alert")).to_contain_text("does not know this token")
        paste(page, f"Bearer {shop.tokens['viewer']}")
        expect(page.get_by_role("navigation", name="Main", exact=True)).to_be_visible()
        assert console.route == "/gates"


def test_a_token_of_a_worker_is_refused_in_words(world: World, shop: Shop) -> None:
    with open_console(world.server.url, None, "/") as console:
        console.watch.allow("status of 403")
        paste(console.page, shop.tokens["worker"])
        expect(console.page.get_by_role("alert")).to_contain_text(re.compile(r"worker.*operator, admin or viewer"))


def test_the_token_is_in_the_session_storage_and_nowhere_else(world: World, shop: Shop) -> None:
    token = shop.tokens["viewer"]
    with open_console(world.server.url, None, "/gates") as console:
        paste(console.page, token)
        expect(console.page.get_by_role("navigation", name="Main", exact=True)).to_be_visible()
        kept = console.page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}, document.cookie])")
        assert token in kept.partition("},")[0]
        assert token not in kept.partition("},")[2]
        assert not [one for one in console.watch.requests if token in one], "the token is in no address"
        assert token not in console.page.url
        assert console.page.context.cookies() == []


def test_a_token_that_is_revoked_is_asked_for_again_and_the_place_is_kept(world: World, shop: Shop) -> None:
    admin = world.api(shop.tokens["admin"])
    status, made = admin.call("POST", "/v1/tokens", {"tenant": TENANT, "role": "operator", "name": "short"})
    assert status == 201, made
    with open_console(world.server.url, made["token"], "/gates") as console:
        page = console.page
        console.watch.allow(REFUSED)
        status, _ = admin.call("DELETE", f"/v1/tokens/{made['id']}")
        assert status < 300
        page.get_by_role("navigation", name="Main", exact=True).get_by_role("link", name="Workers").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Your token is no longer valid")
        paste(page, shop.tokens["operator"])
        expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("Workers"))
        assert console.route.startswith("/workers")


def test_a_reader_can_forget_the_token(world: World, shop: Shop) -> None:
    with open_console(world.server.url, shop.tokens["viewer"], "/gates") as console:
        console.page.get_by_role("button", name="Sign out").click()
        expect(console.page.get_by_role("heading", level=1)).to_have_text("Paste your token")
        assert console.page.evaluate("sessionStorage.getItem('onthedot.token')") is None
        console.page.reload()
        expect(console.page.get_by_role("heading", level=1)).to_have_text("Paste your token")
