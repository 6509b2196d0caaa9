"""The field that finds by name keeps the typed text when answers come meanwhile."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import Opens
from tests.browser.kits.console import wait_until_held

VIEWS = ["/jobs", "/dead-letters", "/workflows"]


def test_an_answer_takes_nothing_from_what_is_typed(console: Opens) -> None:
    page = console("/jobs").page
    held: list[Route] = []
    page.route(re.compile(r"[?&]name=s(&|$)"), lambda route: held.append(route))  # noqa: PLW0108 - it takes no built-in
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(seconds=5))
    search = page.get_by_role("searchbox")
    search.press_sequentially("s")
    page.clock.run_for(300)
    expect(page).to_have_url(re.compile("name=s$"))
    answer = wait_until_held(page, held)
    search.press_sequentially("e")
    with page.expect_response(lambda response: response.url == answer.request.url):
        answer.continue_()
    page.wait_for_timeout(500)  # the view shows the answer
    assert search.input_value() == "se"
    page.clock.run_for(300)
    expect(page).to_have_url(re.compile("name=se$"))
    expect(search).to_have_value("se")


@pytest.mark.parametrize("view", VIEWS)
def test_the_way_back_is_shown_in_the_field(console: Opens, view: str) -> None:
    page = console(f"{view}?name=settle").page
    search = page.get_by_role("searchbox")
    expect(search).to_have_value("settle")
    page.evaluate("(view) => { location.hash = `#${view}?name=poll`; }", view)
    expect(search).to_have_value("poll")
