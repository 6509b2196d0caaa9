"""The overview: the complete minutes of each range, and what holds runs up, with a way to its cause."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Opens, OpensIncident
from tests.browser.incidents.incident import Scene
from tests.browser.incidents.targets import LATE_TICK
from tests.browser.kits.console import open_console
from tests.browser.world.build import World


@pytest.mark.parametrize(
    ("range_id", "most", "unit"),
    [("15m", 15, "a minute"), ("1h", 59, "a minute"), ("24h", 288, "in 5 minutes"), ("7d", 168, "an hour")],
)
def test_each_range_shows_its_steps_and_not_the_running_one(
    console: Opens, range_id: str, most: int, unit: str
) -> None:
    page = console(f"/?range={range_id}").page
    card = page.get_by_role("region", name="Throughput")
    expect(card).to_contain_text(f"runs ended {unit}")
    card.get_by_role("img").hover()
    card.get_by_role("button", name="View as table").click()
    rows = card.get_by_role("table").locator("tbody tr")
    expect(rows.first).to_be_visible()
    assert most - 2 <= rows.count() <= most
    expect(page.locator(".fig .v").first).not_to_have_text(re.compile("^0 "))


def test_hold_ups_and_causes_lead_to_job_and_gate(console: Opens) -> None:
    opened = console("/")
    page = opened.page
    card = page.get_by_role("region", name="Failures and hold-ups")
    expect(card.get_by_role("link", name=re.compile("^train-forecast"))).to_contain_text("lacks capability 'gpu'")
    expect(card.get_by_role("link", name=re.compile("^stripe"))).to_contain_text("2 of 2 places are in use")
    paused = card.get_by_role("link", name=re.compile("^crm"))
    expect(paused).to_contain_text(
        re.compile(r"gate crm is paused \(set by ci-deploy at \S+\), so nothing starts; 3 runs wait")
    )
    paused.click()
    expect(page).to_have_url(re.compile("#/gates/crm"))
    opened.go("/")
    card.get_by_role("link", name=re.compile("^poll-carrier-status")).click()
    expect(page).to_have_url(re.compile("#/jobs/job_"))


def test_a_late_tick_is_in_the_heading_and_in_the_list(late_world: tuple[World, dict[str, Scene]]) -> None:
    world, scenes = late_world
    with open_console(world.server.url, scenes[LATE_TICK.name].tokens["operator"], "/") as opened:
        expect(opened.page.get_by_role("heading", level=1)).to_contain_text(re.compile("No tick"))
        late = opened.page.get_by_role("listitem").filter(has_text="Ticks are late")
        expect(late.locator("code")).to_have_text("onthedot doctor")
        expect(late.get_by_role("link")).to_have_count(0)
        expect(opened.page.get_by_role("banner")).to_contain_text(re.compile("no tick yet|tick .* ago"))


def test_the_queue_of_other_tenants_alarms_no_tenant(at_incident: OpensIncident) -> None:
    for name, is_alarmed in (("ended", False), ("no worker", True)):
        waiting = at_incident(name, "/").page.locator(".fig").filter(has_text="Waiting, all tenants")
        expect(waiting).to_contain_text(re.compile(r"oldest \d+"))
        expect(waiting.locator(".t-fail")).to_have_count(int(is_alarmed))


def test_the_heading_speaks_of_the_chosen_range(at_incident: OpensIncident) -> None:
    opened = at_incident("too late", "/")
    heading, lead = opened.page.get_by_role("heading", level=1), opened.page.locator("main .lead").first
    expect(heading).to_have_text("Overview: All runs were skipped")
    expect(opened.page.locator(".onoff .k-ok")).to_have_count(0)
    opened.go("/?range=24h")
    expect(heading).to_have_text("Overview: All runs were skipped")
    expect(lead).to_have_text("1 run in the last 24 h, 1 skipped.")
    opened.go("/?range=15m")
    expect(heading).to_have_text("Overview: Nothing is running")
    expect(lead).to_have_text("No run ended in the last 15 min.")
