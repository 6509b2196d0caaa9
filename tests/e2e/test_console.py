"""The console in each home, in a real browser: below API Gateway's stage path, and on `onthedot serve`."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.kits.chromium import closed_at_the_end
from tests.browser.kits.console import open_console
from tests.e2e.homes import Home

_closed = pytest.fixture(scope="module", autouse=True)(closed_at_the_end)
LONGEST_ANSWER_MS = 40_000
"""API Gateway gives up after 29 seconds. The forecast of a day takes most of it on a busy machine."""
PAGES = ("Overview", "Jobs", "Workflows", "Schedule", "Dead letters", "Workers", "Queues", "Gates")


def test_each_page_of_the_console_opens_without_an_error(home: Home) -> None:
    with open_console(home.api.url, None, "/") as console:
        console.page.get_by_label("Token").fill(home.api.token or "")
        console.page.get_by_role("button", name="Continue").click()
        menu = console.page.get_by_role("navigation", name="Main", exact=True)
        for name in PAGES:
            menu.get_by_role("link", name=name).click()
            expect(menu.get_by_role("link", name=name)).to_have_attribute("aria-current", "page")
            console.settle(LONGEST_ANSWER_MS)
        expect(console.page.get_by_role("alert")).to_have_count(0)
        expect(menu).to_contain_text("admin")
        path = urlsplit(home.api.url).path
        calls = [one for one in console.watch.requests if "/v1/" in one]
        assert calls
        assert all(re.match(rf"GET {re.escape(path)}/v1/", one) for one in calls), "calls go below the stage path"
