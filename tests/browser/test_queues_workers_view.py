"""The views of queues and workers: faults come first, and one worker shows its runs."""

import json
import re
from typing import Any

from playwright.sync_api import Route, expect

from tests.browser.conftest import Opens, OpensIncident
from tests.browser.incidents.incident import Scene
from tests.browser.world.build import World

Worlds = tuple[World, dict[str, Scene]]


def test_queues_show_each_lane_and_what_holds_runs_up(console: Opens) -> None:
    page = console("/queues").page
    table = page.get_by_role("table", name="Queues by pool and priority")
    expect(table.get_by_role("row")).to_have_count(7)
    why = "none of the 2 live workers of pool pull can run train-forecast; worker worker-eu-"
    expect(page.locator(".lead")).to_contain_text(re.compile(why, re.IGNORECASE))
    held = table.get_by_role("link", name=re.compile(why))
    expect(held).to_be_visible()
    held.click()
    expect(page).to_have_url(re.compile(r"#/jobs/job_"))


def test_a_pool_is_in_the_address(console: Opens) -> None:
    opened = console("/queues")
    page = opened.page
    page.get_by_role("group", name="Pool").get_by_role("link", name="pull").click()
    expect(page).to_have_url(re.compile(r"#/queues\?pool=pull"))
    expect(page.get_by_role("table").get_by_role("row")).to_have_count(4)
    opened.go("/queues?pool=no-such-pool")
    expect(page.get_by_role("heading", name="There is no pool no-such-pool")).to_be_visible()


def changed(field: str, **values: Any) -> Any:
    """Answer as the API does, with other values in the first row."""

    def answer(route: Route) -> None:
        response = route.fetch()
        body = response.json()
        body[field][0].update(values)
        route.fulfill(response=response, body=json.dumps(body))

    return answer


def without_hold_ups(route: Route) -> None:
    """Let nothing be held up: runs that no worker can take would be named first."""
    response = route.fetch()
    route.fulfill(response=response, body=json.dumps({**response.json(), "hold_ups": []}))


def test_an_old_queue_is_named_with_its_age(console: Opens) -> None:
    opened = console(None)
    old = changed("queues", waiting=7, oldest_age_seconds=7_560)
    opened.page.route("**/v1/queues", old)
    opened.page.route("**/v1/overview", without_hold_ups)
    opened.go("/queues")
    expect(opened.page.locator(".lead")).to_contain_text(
        "Pool default, HIGH: 7 runs of all tenants wait, the oldest for 2 h 6 min."
    )
    expect(opened.page.get_by_role("img", name="The oldest has waited 2 h 6 min")).to_be_visible()


def test_a_queue_that_cannot_be_read_says_why(console: Opens) -> None:
    opened = console(None)
    unread = {"waiting": None, "delayed": None, "in_flight": None, "dead_letters": None, "error": "SQS did not answer"}
    opened.page.route("**/v1/queues", changed("queues", **unread))
    opened.go("/queues")
    expect(opened.page.get_by_role("table")).to_contain_text("SQS did not answer")


def test_workers_show_state_places_and_who_is_lost(console: Opens) -> None:
    page = console("/workers").page
    expect(page.locator(".lead")).to_contain_text(re.compile(r"Worker worker-eu-3 is lost: no heartbeat for \d+ min"))
    table = page.get_by_role("table", name="Table of workers")
    first = table.get_by_role("row").nth(1)
    expect(first).to_contain_text("Lost")
    expect(first).to_contain_text("worker-eu-3")
    expect(table.get_by_role("img", name=re.compile(r"\d of 4 places in use"))).to_have_count(2)
    expect(page.get_by_role("link", name=re.compile("train-forecast"))).to_contain_text("lacks capability 'gpu'")


def test_one_worker_shows_what_it_runs_and_its_latest_runs(console: Opens) -> None:
    opened = console("/workers")
    page = opened.page
    page.get_by_role("link", name=re.compile(r"^\d runs?$")).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("worker-eu-[12]"))
    running = page.get_by_role("table", name="Table of runs now")
    expect(running.get_by_role("link", name="transform-revenue")).to_be_visible()
    expect(page.get_by_role("table", name="Table of the latest runs")).to_be_visible()
    expect(page.get_by_text("python:train-forecast")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile(r"#/workers$"))


def test_figures_of_all_tenants_say_so(at_incident: OpensIncident) -> None:
    opened = at_incident("ended", "/queues")
    page = opened.page
    card = page.get_by_role("region", name="Queues", exact=True)
    expect(card.locator(".hint")).to_contain_text("all tenants")
    expect(page.locator(".lead")).to_contain_text("of all tenants wait")
    expect(card.get_by_role("rowheader", name=re.compile("pull"))).to_contain_text("no worker serves your tenant")
    opened.go("/")
    expect(page.get_by_role("region", name="Queues").locator(".hint")).to_contain_text("all tenants")
