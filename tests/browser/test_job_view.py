"""One job: why, runs past and coming, attempts, run now, and what a person may do with it."""

import json
import re
import time

from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.conftest import Opens
from tests.browser.kits.console import wait_until_held
from tests.browser.world.build import World
from tests.browser.world.shop import Shop
from tests.e2e.homes import Api

FAR = "0 4 1 1 *"
EVERY_MS = 5_000


def card(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=re.compile(name))


def hold_first(page: Page, url: str) -> list[Route]:
    """Hold the first request to this URL, and let later ones pass. The list has the request once it came."""
    held: list[Route] = []

    def see(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route(url, see)
    return held


def test_why_is_a_sentence_with_a_way_on(console: Opens, shop: Shop) -> None:
    page = console(f"/jobs/{shop.jobs['settle-payouts']}").page
    why = card(page, "^Why$")
    expect(why).to_contain_text(re.compile(r"Not due until .*02:30:00, in \d+ (h|min|s)\b"))
    expect(why).to_contain_text("connection refused")
    expect(why).to_contain_text("Redriven now, it would start at once")
    why.get_by_text("What happened to its latest run").click()
    expect(why).to_contain_text("attempt 4 failed")
    expect(why.get_by_role("link", name="Dead letters")).to_have_attribute("href", re.compile("dead-letters.job_id="))


def test_what_stands_between_backticks_is_code(console: Opens, shop: Shop) -> None:
    opened = console(None)

    def with_command(route: Route) -> None:
        body = {"reasons": [{"code": "late", "message": "run `onthedot <b>`, or wait"}], "what_if": [], "timeline": []}
        route.fulfill(json=body)

    opened.page.route("**/explain", with_command)
    why = card(opened.go(f"/jobs/{shop.jobs['settle-payouts']}"), "^Why$")
    expect(why.locator(".say")).to_have_text("Run onthedot <b>, or wait.")
    expect(why.locator(".say code")).to_have_text("onthedot <b>")
    expect(why.get_by_title("late")).to_be_visible()


def test_next_fires_are_shown_in_both_clocks(console: Opens, shop: Shop) -> None:
    page = console(f"/jobs/{shop.jobs['settle-payouts']}").page
    fires = page.get_by_role("table", name="Next fires in both clocks")
    expect(fires.get_by_role("columnheader")).to_have_text(["Day", "Berlin", "UTC", "In"])
    expect(fires.get_by_role("row").nth(1)).to_contain_text(re.compile(r"02:30:00 CES?T.*0[01]:30:00"))
    expect(card(page, "At 02:30 every day")).to_contain_text(re.compile("Next change after that: Sun .*02:30"))


def test_a_run_is_chosen_by_its_link_and_by_arrow_keys(console: Opens, shop: Shop) -> None:
    opened = console(f"/jobs/{shop.jobs['settle-payouts']}")
    page = opened.page
    expect(card(page, "^Run of ")).to_contain_text("Failed")
    expect(page.get_by_role("table", name="Attempts side by side").get_by_role("columnheader")).to_have_count(5)
    page.get_by_role("table", name="Past runs").get_by_role("link").nth(2).click()
    expect(page).to_have_url(re.compile(r"\?run=job_"))
    expect(card(page, "^Run of ")).to_contain_text("Succeeded")
    before = opened.route
    page.keyboard.press("ArrowRight")
    expect(page).not_to_have_url(re.compile(re.escape(before)))
    page.keyboard.press("ArrowRight")
    expect(card(page, "^Run of ")).to_contain_text("Failed")


def test_the_timeline_tells_past_and_coming_runs_also_as_a_table(console: Opens, shop: Shop) -> None:
    page = console(f"/jobs/{shop.jobs['settle-payouts']}").page
    runs = card(page, "^Runs$")
    expect(runs.get_by_role("img", name=re.compile(r"1 failed, \d+ succeeded.*come"))).to_be_visible()
    # A run may succeed late: the height says how late.
    expect(runs.locator(".legend > span")).to_have_text(["succeeded", "after a retry", "failed", "skipped", "coming"])
    runs.hover()
    runs.get_by_role("button", name="View as table").click()
    expect(runs.get_by_role("table")).to_contain_text("Coming")


def test_a_skipped_run_is_shown_with_its_reason(console: Opens, api: Api, shop: Shop) -> None:
    gate = "stripe"
    late = {"at": time.time() - 60, "start_within_seconds": 1, "gates": [gate]}
    job = api.submit(name="skips", callback_url=shop.at("reports", "skips"), **late)["job_id"]
    api.wait_for(job, "SKIPPED", 60)
    page = console(f"/jobs/{job}").page
    expect(card(page, "^Why$")).to_contain_text("start_within_seconds")
    expect(page.get_by_role("table", name="Past runs")).to_contain_text("Skipped")
    expect(card(page, "^Why$").get_by_role("link", name=f"Gate {gate}")).to_be_visible()
    expect(card(page, "^Run of ")).to_contain_text("No attempts were made.")
    for name in ("Edit", "Edit the definition"):
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)


def test_run_now_takes_an_edited_payload(console: Opens, api: Api, shop: Shop, world: World) -> None:
    job = api.submit(name="run-me", cron=FAR, callback_url=shop.at("reports", "run-me"), payload={"day": 1})["job_id"]
    page = console(f"/jobs/{job}").page
    now = card(page, "^Run now$")
    now.get_by_label("Payload").fill('{"day": ')
    expect(now).to_contain_text("payload is not JSON")
    expect(now.get_by_role("button", name="Run once with this payload")).to_be_disabled()
    now.get_by_label("Payload").fill('{"day": 2}')
    expect(now.get_by_role("tabpanel")).to_contain_text(f"onthedot run {job} --payload")
    now.get_by_role("button", name="Run once with this payload").click()
    page.get_by_role("dialog").get_by_role("button", name="Run now").click()
    expect(page.get_by_role("table", name="Past runs")).to_contain_text("Succeeded")
    assert json.loads(dict(world.listener.bodies)["/run-me"]) == {"day": 2}
    assert api.call("GET", f"/v1/jobs/{job}")[1]["payload"] == {"day": 1}, "the payload was for that run only"


def test_a_job_is_paused_resumed_cancelled_and_deleted(console: Opens, api: Api, shop: Shop) -> None:
    job = api.submit(name="short-life", cron=FAR, callback_url=shop.at("reports", "life"))["job_id"]
    opened = console(f"/jobs/{job}")
    page = opened.page
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    expect(card(page, "^Why$")).to_contain_text("It was paused by console-operator at")
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    dialog = page.get_by_role("dialog", name="Cancel short-life?")
    expect(dialog.get_by_role("button", name="Back")).to_be_focused()
    expect(dialog.get_by_role("tabpanel")).to_contain_text(f"onthedot cancel {job}")
    dialog.get_by_role("button", name="Back").click()
    assert api.call("GET", f"/v1/jobs/{job}")[1]["status"] == "ACTIVE"
    page.get_by_role("button", name="Cancel").click()
    dialog.get_by_role("button", name="Cancel the job").click()
    expect(page.locator("main .title")).to_contain_text("Cancelled")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete the job").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    assert api.call("GET", f"/v1/jobs/{job}")[0] == 404


def test_a_schedule_that_has_ended_is_edited_but_not_paused(console: Opens, api: Api, shop: Shop) -> None:
    job = api.submit(name="has-ended", every=2, max_runs=1, callback_url=shop.at("reports", "ended"))["job_id"]
    api.wait_for(job, "COMPLETED", 90)
    page = console(f"/jobs/{job}").page
    for name in ("Edit", "Edit the definition"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    page.keyboard.press("Control+k")
    page.keyboard.type("has-ended")
    expect(page.get_by_role("option", name=re.compile("^What happened to has-ended"))).to_be_visible()
    expect(page.get_by_role("option", name=re.compile("^Run has-ended now"))).to_be_visible()
    expect(page.get_by_role("option", name=re.compile("^Pause has-ended"))).to_have_count(0)


def test_a_failed_run_is_redriven(console: Opens, api: Api, shop: Shop, world: World) -> None:
    world.listener.down.add("/broken")
    target = {"callback_url": shop.at("reports", "broken"), "retry": {"max_retries": 0}}
    job = api.submit(name="breaks", **target)["job_id"]
    api.wait_for(job, "FAILED")
    page = console(f"/jobs/{job}").page
    expect(card(page, "^Run of ")).to_contain_text("503")
    world.listener.down.discard("/broken")
    card(page, "^Run of ").get_by_role("button", name="Redrive").click()
    page.get_by_role("dialog").get_by_role("button", name="Redrive 1 run").click()
    expect(page.locator("main .title")).to_contain_text("Succeeded")


def test_a_running_run_shows_how_long_and_its_deadline(console: Opens, api: Api, shop: Shop) -> None:
    job = api.submit(name="slow", callback_url=shop.at("reports", "hold/slow"), timeout_seconds=60)["job_id"]
    api.wait_for(job, "RUNNING")
    page = console(f"/jobs/{job}").page
    expect(card(page, "^Run of ")).to_contain_text(re.compile(r"running for \d+ s"))
    expect(card(page, "^Run of ")).to_contain_text(re.compile(r"times out in \d+ s"))


def test_a_link_that_acts_waits_until_the_role_is_known(console: Opens, api: Api, shop: Shop) -> None:
    job = api.submit(name="asked-early", cron=FAR, callback_url=shop.at("reports", "asked-early"))["job_id"]
    opened = console(None)
    held = hold_first(opened.page, "**/v1/overview")
    opened.page.goto(f"{opened.url}/console#/jobs/{job}?do=pause")
    expect(opened.page.get_by_role("heading", name="asked-early")).to_be_visible()
    wait_until_held(opened.page, held).continue_()
    expect(opened.page.get_by_role("dialog", name="Pause asked-early?")).to_be_visible()


def test_an_action_is_shown_although_an_older_request_is_on_its_way(console: Opens, api: Api, shop: Shop) -> None:
    job = api.submit(name="overtaken", cron=FAR, callback_url=shop.at("reports", "overtaken"))["job_id"]
    opened = console(None)
    opened.page.clock.install()
    opened.go(f"/jobs/{job}")
    held = hold_first(opened.page, f"**/v1/jobs/{job}")
    with opened.page.expect_request(f"**/v1/jobs/{job}"):
        opened.page.clock.run_for(EVERY_MS + 500)
    opened.page.get_by_role("button", name="Pause").click()
    expect(opened.page.get_by_role("button", name="Resume")).to_be_visible()
    assert held, "the older request got no answer"


def test_changes_say_who_and_which_fields(console: Opens, api: Api, shop: Shop) -> None:
    job = api.submit(name="changed", cron=FAR, callback_url=shop.at("reports", "changed"))["job_id"]
    assert api.call("PATCH", f"/v1/jobs/{job}", {"timeout_seconds": 20})[0] == 200
    page = console(f"/jobs/{job}").page
    expect(card(page, "^Changes$")).to_contain_text("console-operator changed it: timeout_seconds")
