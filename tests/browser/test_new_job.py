"""A new job: the form, the preview as one types, the API's own messages, and the same job as a command."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Opens
from tests.browser.kits.axe import axe_in_each_look
from tests.browser.kits.command import run_shown
from tests.browser.kits.console import Console, choose
from tests.browser.world.shop import Shop
from tests.e2e.homes import Api


def new_job(console: Opens) -> Console:
    """Open the form, and wait for the focus of its first field."""
    opened = console("/new")
    expect(opened.page.get_by_label("Name")).to_be_focused()
    return opened


def preview(page: Page) -> Locator:
    return page.get_by_role("region", name="Preview")


def made(page: Page, api: Api) -> dict[str, object]:
    """Wait until the page of the new job is shown, and return the job."""
    expect(page).to_have_url(re.compile("#/jobs/job_"))
    job_id = page.url.rpartition("/")[2]
    return dict(api.call("GET", f"/v1/jobs/{job_id}")[1])


def test_a_cron_is_previewed_as_one_types_and_the_job_is_made(console: Opens, api: Api, shop: Shop) -> None:
    page = new_job(console).page
    page.get_by_label("Name").fill("quote-refresh")
    page.get_by_label("Tags").fill("team=markets")
    page.get_by_label("Address").fill(shop.at("quotes", "refresh"))
    page.get_by_label("Payload").fill('{"market": "xetra"}')
    choose(page, "Cron")
    page.get_by_role("textbox", name="Cron").press_sequentially("30 2 * * *")
    expect(preview(page)).to_contain_text("At 02:30 every day")
    fires = page.get_by_role("table", name="Next fires in both clocks")
    expect(fires.get_by_role("row")).to_have_count(6)
    expect(fires).to_contain_text("02:30:00")
    expect(preview(page)).to_contain_text("02:30 does not exist on this day")
    expect(preview(page).get_by_role("tabpanel")).to_contain_text("--cron '30 2 * * *'")
    preview(page).get_by_role("tab", name="Python").click()
    expect(preview(page).get_by_role("tabpanel")).to_contain_text('timezone="Europe/Berlin"')
    page.get_by_role("button", name="Create job").click()
    job = made(page, api)
    assert (job["name"], job["cron"], job["timezone"]) == ("quote-refresh", "30 2 * * *", "Europe/Berlin")
    assert (job["payload"], job["tags"]) == ({"market": "xetra"}, {"team": "markets"})
    expect(page.get_by_role("heading", level=1)).to_have_text("quote-refresh")


def test_fields_have_the_messages_of_the_api(console: Opens, shop: Shop) -> None:
    opened = new_job(console)
    opened.watch.allow("status of 422")
    page = opened.page
    page.get_by_label("Address").fill("quotes.internal")
    choose(page, "Cron")
    page.get_by_role("textbox", name="Cron").fill("61 * * * *")
    field = page.get_by_role("textbox", name="Cron")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(re.compile("^cron .*61"))
    field.fill("0 * * * *")
    expect(field).not_to_have_attribute("aria-invalid", "true")
    page.get_by_label("Jitter, seconds").fill("1200")
    expect(page.get_by_text("jitter_seconds is too large; give 900 or less")).to_be_visible()
    expect(page.get_by_text("1 field to correct")).to_be_visible()
    page.get_by_label("Jitter, seconds").fill("")
    page.get_by_label("Gates").fill("no-such-gate")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_label("Address")).to_be_focused()
    expect(page.get_by_label("Address")).to_have_accessible_description(re.compile("has no http"))
    page.get_by_label("Address").fill(shop.at("quotes", "refresh"))
    page.keyboard.press("Control+Enter")
    expect(page.get_by_label("Gates")).to_have_accessible_description(re.compile("there is no gate no-such-gate"))


def test_a_payload_that_is_no_json_is_not_sent(console: Opens) -> None:
    page = new_job(console).page
    page.get_by_label("Payload").fill("{")
    expect(page.get_by_label("Payload")).to_have_accessible_description(re.compile("payload is not JSON"))
    expect(page.get_by_role("button", name="Create job")).to_be_disabled()


def test_a_job_that_runs_now_is_made_with_two_fields(console: Opens, api: Api, shop: Shop) -> None:
    page = new_job(console).page
    page.get_by_label("Name").fill("at-once")
    page.get_by_label("Address").fill(shop.at("quotes", "once"))
    page.keyboard.press("Control+Enter")
    assert made(page, api)["name"] == "at-once"
    expect(page.locator("main .title")).to_contain_text("Succeeded")


def test_a_handler_with_a_delay_and_advanced_fields(console: Opens, api: Api) -> None:
    page = new_job(console).page
    choose(page, "Python")
    page.get_by_label("Handler").fill("notify-team")
    choose(page, "After a delay")
    page.get_by_label("Delay, seconds").fill("86400")
    choose(page, "High")
    page.get_by_label("Retries").fill("1")
    page.get_by_label("Start within, seconds").fill("600")
    expect(preview(page)).to_contain_text("Once, 1 d after it is created")
    expect(preview(page).get_by_role("tabpanel")).to_contain_text("--python notify-team")
    page.get_by_role("button", name="Create job").click()
    job = made(page, api)
    assert job["target"] == {"type": "python", "handler": "notify-team"}
    assert (job["priority"], job["start_within_seconds"]) == ("HIGH", 600)
    assert job["retry"] == {
        "max_retries": 1,
        "backoff_seconds": 2,
        "factor": 2,
        "max_backoff_seconds": 900,
        "jitter": True,
    }


def test_a_time_without_seconds_and_zone_is_one_of_utc(console: Opens, api: Api, shop: Shop) -> None:
    page = new_job(console).page
    page.get_by_label("Address").fill(shop.at("quotes", "once"))
    choose(page, "At a time")
    page.get_by_label("At", exact=True).fill("2027-03-01T12:00")
    page.get_by_label("Time zone").fill("")
    expect(preview(page)).to_contain_text("Once, at 2027-03-01 12:00 UTC")
    by_command = run_shown(preview(page).get_by_role("tabpanel"), api)
    page.get_by_role("button", name="Create job").click()
    assert made(page, api)["fire_time"] == by_command["fire_time"] == "2027-03-01T12:00:00.000Z"


def test_the_command_of_a_new_job_makes_the_same_job(console: Opens, api: Api, shop: Shop) -> None:
    page = new_job(console).page
    page.get_by_label("Name").fill("by-command")
    page.get_by_label("Address").fill(shop.at("quotes", "refresh"))
    choose(page, "Cron")
    page.get_by_role("textbox", name="Cron").fill("30 2 * * *")
    page.get_by_label("Missed fires").select_option("skip")
    page.get_by_label("When clocks show it twice").select_option("twice")
    page.get_by_label("Then multiplied by").fill("3")
    page.get_by_label("Wait a random part of that time").uncheck()
    by_command = run_shown(preview(page).get_by_role("tabpanel"), api)["job_id"]
    other = dict(api.call("GET", f"/v1/jobs/{by_command}")[1])
    page.get_by_role("button", name="Create job").click()
    job = made(page, api)
    assert (job["misfire"], job["dst"]) == (
        {"policy": "skip", "grace_seconds": 60},
        {"gap": "run_after", "overlap": "twice"},
    )
    same = ("name", "cron", "timezone", "dst", "misfire", "retry", "target", "payload", "requirements")
    assert {name: job[name] for name in same} == {name: other[name] for name in same}


def test_a_program_every_so_often_and_an_event(console: Opens, api: Api, shop: Shop) -> None:
    page = new_job(console).page
    choose(page, "Program")
    page.get_by_label("Program and arguments").fill("report\n--month\n2026-10")
    choose(page, "Every")
    page.get_by_label("Every, seconds").fill("7200")
    expect(preview(page)).to_contain_text("Every 2 hours")
    choose(page, "Skip")
    page.get_by_role("button", name="Create job").click()
    job = made(page, api)
    assert job["target"] == {"type": "shell", "argv": ["report", "--month", "2026-10"]}
    assert (job["every"], job["overlap"]) == (7200, "skip")
    page.keyboard.press("n")
    choose(page, "On an event")
    page.get_by_label("Address").fill(shop.at("quotes", "paid"))
    page.get_by_label("Pattern of the event").fill('{"source": ["shop"]}')
    page.get_by_role("button", name="Create job").click()
    expect(page.get_by_role("heading", name="On an event")).to_be_visible()
    assert made(page, api)["on_event"] == {"source": ["shop"]}


def test_each_kind_of_target_and_time_is_accessible(console: Opens) -> None:
    opened = new_job(console)
    page = opened.page
    for target, when in (("Lambda", "At a time"), ("AWS call", "Cron"), ("gRPC", "Every"), ("Program", "On an event")):
        choose(page, target)
        choose(page, when)
        assert axe_in_each_look(opened) == [], f"{target} {when}"
