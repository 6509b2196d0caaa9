"""The schedule: hours as rows, herds marked, and what jitter would do to a minute."""

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Opens
from tests.browser.kits.axe import axe
from tests.browser.kits.console import PHONE, ZONE
from tests.browser.world.shop import HERD


def next_midnight() -> str:
    """The minute in which the herd of the shop fires, as the calendar names it."""
    now = datetime.now(ZoneInfo(ZONE))
    return f"{now + timedelta(days=1):%a} 00:00"


def change_answer(page: Page, path: str, change: Callable[[Any], None]) -> None:
    """Change the answers of the API to this path on their way to the page."""

    def answer(route: Route) -> None:
        response = route.fetch()
        body = response.json()
        change(body)
        route.fulfill(response=response, body=json.dumps(body))

    page.route(path, answer)


def test_the_herd_at_midnight_is_marked_and_chosen(console: Opens) -> None:
    opened = console("/schedule")
    page = opened.page
    # The present minute may be a second one: it has the overdue runs of a busy machine.
    herds = re.compile(r"(1 minute holds|2 minutes hold) more than \d+ runs, twice the usual")
    expect(page.locator(".lead")).to_contain_text(herds)
    midnight = page.get_by_role("button", name=next_midnight())
    expect(midnight).to_have_attribute("aria-pressed", "true")
    assert page.locator("circle.herd[data-at]").count() in (1, 2)
    runs = int(page.locator(".herds tbody td").nth(1).inner_text())
    assert runs >= HERD
    expect(page.get_by_role("heading", name=f"Who fires at {next_midnight()}")).to_be_visible()
    assert opened.watch.count("GET /v1/forecast?minutes=1") == 1


def test_jitter_spreads_the_herd(console: Opens) -> None:
    page = console("/schedule").page
    before = int(page.locator(".herds tbody td").nth(1).inner_text())
    slider = page.get_by_role("slider", name=f"Jitter of jobs at {next_midnight()}")
    said = page.locator(".say2")
    expect(said).to_contain_text(re.compile(rf"{before} runs in one minute become at most \d+ "))
    slider.focus()
    page.keyboard.press("Home")
    expect(said).to_contain_text(f"{before} runs start within one minute.")
    page.keyboard.press("End")
    expect(page.locator("output")).to_have_text("900 s")
    after = int(re.findall(r"at most (\d+)", said.inner_text())[0])
    assert after < before / 2


def test_arrow_keys_choose_a_minute_and_the_link_keeps_it(console: Opens) -> None:
    opened = console("/schedule?tz=UTC")
    page = opened.page
    page.get_by_role("group", name=re.compile("Minutes of the calendar")).focus()
    for key in ("Home", "ArrowDown", "ArrowRight"):
        before = page.url
        page.keyboard.press(key)
        expect(page).not_to_have_url(re.compile(re.escape(before) + "$"))
    hour = re.findall(r"at=[^&]*T(\d\d)%3A(\d\d)", opened.route)[0]
    expect(page.get_by_role("heading", name=f"{hour[0]}:{hour[1]}")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name=f"{hour[0]}:{hour[1]}")).to_be_visible()


def test_a_click_chooses_a_minute_and_shows_who_fires(console: Opens) -> None:
    page = console("/schedule").page
    page.locator(".hc[data-at='90']").click()
    who = page.locator(".who2")
    expect(who.get_by_role("link", name="sync-inventory")).to_be_visible()
    who.get_by_role("link", name="sync-inventory").click()
    expect(page).to_have_url(re.compile(r"#/jobs/job_\w+"))


def test_six_hours_ask_for_six_hours(console: Opens) -> None:
    opened = console("/schedule?range=6h")
    assert opened.watch.count("GET /v1/forecast?minutes=360") == 1
    rows = opened.page.locator(".heatmap text.e.mid")
    assert 6 <= rows.count() <= 7
    opened.page.get_by_role("button", name="Show as").click()
    expect(opened.page.get_by_role("tabpanel")).to_contain_text("onthedot forecast --minutes 360")


def test_minutes_above_the_limit_of_the_tenant_are_herds(console: Opens) -> None:
    opened = console(None)
    limits = {"in_flight": None, "per_second": 0.75}
    change_answer(opened.page, "**/v1/overview", lambda body: body.update(limits=limits))
    page = opened.go("/schedule")
    expect(page.locator(".lead")).to_contain_text(re.compile("(1 minute holds|2 minutes hold) more than the limit"))
    expect(page.get_by_text("over the limit of 45")).to_be_visible()
    cells = page.locator(".herds tbody td")
    runs = int(cells.nth(1).inner_text())
    assert cells.nth(2).inner_text() == str(runs - 45)
    assert float(cells.nth(3).inner_text().removesuffix(" s")) == pytest.approx((runs - 45) / 0.75, abs=0.5)
    assert axe(page) == []


def test_one_full_minute_of_a_quiet_day_is_a_herd(console: Opens) -> None:
    opened = console(None)

    def quiet(body: Any) -> None:
        body["minutes"] = [{"time": minute["time"], "runs": 0} for minute in body["minutes"]]
        body["minutes"][90]["runs"] = 60

    change_answer(opened.page, "**/v1/forecast?*", quiet)
    page = opened.go("/schedule")
    expect(page.locator(".lead")).to_have_text("60 runs are due in the coming day. 1 minute holds more than 20 runs.")
    expect(page.locator("circle.herd[data-at='90']")).to_have_count(1)
    expect(page.locator(".herds tbody td").nth(2)).to_have_text("40")


def test_a_phone_shows_hours_as_bars_that_open(console: Opens) -> None:
    page = console("/schedule", size=PHONE).page
    hours = page.locator(".hourbars > li")
    assert 24 <= hours.count() <= 26
    expect(page.locator(".heatmap")).to_have_count(0)
    expect(page.locator(".hb-open")).to_have_count(1)
    second = hours.nth(1).get_by_role("button", name=re.compile("runs"))
    second.click()
    expect(second).to_have_attribute("aria-expanded", "true")
    expect(page.locator(".hb-open")).to_have_count(1)
    assert axe(page) == []
