"""Live figures: asked for with a tag, not while the tab is hidden, kept when the API is gone; and what is not there."""

import pytest
from playwright.sync_api import Request, expect

from tests.browser.conftest import Opens

EVERY_MS = 5_000


def test_a_view_polls_with_the_tag_of_the_last_answer(console: Opens) -> None:
    opened = console(None)
    opened.page.clock.install()
    tags: list[str | None] = []

    def see(request: Request) -> None:
        if request.url.endswith("/v1/gates"):
            tags.append(request.headers.get("if-none-match"))

    opened.page.on("request", see)
    opened.go("/gates")
    statuses = []
    for _ in range(2):
        with opened.page.expect_response(lambda answer: "/v1/gates" in answer.url) as answered:
            opened.page.clock.run_for(EVERY_MS + 500)
        statuses.append(answered.value.status)
    assert tags[0] is None
    assert all(tags[1:]), "each further request has a tag"
    assert set(statuses) <= {200, 304}


def test_a_hidden_tab_asks_for_nothing_and_asks_at_once_when_it_is_seen(console: Opens) -> None:
    opened = console(None)
    opened.page.clock.install()
    opened.go("/")
    opened.hide()
    opened.page.wait_for_load_state("networkidle")
    opened.watch.forget()
    opened.page.clock.run_for(10 * EVERY_MS)
    opened.page.wait_for_load_state("networkidle")
    assert opened.watch.count("GET /v1/") == 0, opened.watch.requests
    with opened.page.expect_request(lambda request: "/v1/overview" in request.url):
        opened.hide(hidden=False)


def test_figures_stay_when_the_api_does_not_answer(console: Opens) -> None:
    opened = console(None)
    opened.page.clock.install()
    opened.go("/")
    opened.watch.allow("net::ERR_FAILED", "Failed to load resource")
    opened.page.route("**/v1/overview", lambda route: route.abort())
    opened.page.clock.run_for(EVERY_MS + 1_000)
    alert = opened.page.get_by_role("alert")
    expect(alert).to_contain_text("not responding")
    expect(opened.page.get_by_text("Not live")).to_be_visible()
    expect(opened.page.get_by_role("heading", name="Throughput").first).to_be_visible()
    opened.page.unroute("**/v1/overview")
    alert.get_by_role("button", name="Try now").click()
    expect(alert).to_have_count(0)


@pytest.mark.parametrize(
    ("view", "calls"), [("/jobs?name=settle", "**/v1/jobs?*"), ("/dead-letters", "**/v1/dead-letters*")]
)
def test_a_view_that_cannot_be_read_says_so_and_is_read_again(console: Opens, view: str, calls: str) -> None:
    opened = console(None)
    opened.watch.allow("net::ERR_FAILED", "Failed to load resource")
    opened.page.route(calls, lambda route: route.abort())
    opened.page.goto(f"{opened.url}/console#{view}")
    said = opened.page.get_by_text("not responding").first
    expect(said).to_be_visible()
    opened.page.unroute(calls)
    opened.page.get_by_role("button", name="Try now").first.click()
    expect(said).to_have_count(0)


@pytest.mark.parametrize("view", ["/jobs/job_aaaaaaaaaaaaaaaaaaaaaaaaaa", "/gates/nothing"])
def test_what_is_not_there_is_said(console: Opens, view: str) -> None:
    opened = console(None)
    opened.watch.allow("status of 404")
    opened.page.goto(f"{opened.url}/console#{view}")
    expect(opened.page.get_by_role("alert").first).to_contain_text("There is nothing here")
