"""An edit shows what it does before it is saved, and never overwrites a change that it has not seen."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Opens
from tests.browser.kits.axe import axe_in_each_look
from tests.browser.kits.command import run_shown
from tests.browser.world.shop import Shop
from tests.e2e.homes import Api


def a_job(api: Api, shop: Shop, name: str) -> str:
    daily = {"cron": "30 2 * * *", "timezone": "Europe/Berlin"}
    return str(api.submit(name=name, callback_url=shop.at("reports", name), **daily)["job_id"])


def edit(page: Page) -> None:
    page.keyboard.press("e")
    expect(page.get_by_role("dialog", name=re.compile("^Edit "))).to_be_visible()


def shows_each_form(dialog: Locator, job: str) -> None:
    panel = dialog.get_by_role("tabpanel")
    expect(panel).to_contain_text(f"onthedot change {job}")
    expect(panel).to_contain_text("--cron '0 6 * * mon-fri'")
    expect(panel).to_contain_text("--if-version 1")
    dialog.get_by_role("tab", name="curl").click()
    expect(panel).to_contain_text("If-Match: 1")
    dialog.get_by_role("tab", name="Python").click()
    expect(panel).to_contain_text(
        f'Client().change( "{job}", cron="0 6 * * mon-fri", timeout_seconds=30, if_version=1, )'
    )


def test_a_change_of_the_schedule_shows_fires_that_move_and_vanish(console: Opens, api: Api, shop: Shop) -> None:
    job = a_job(api, shop, "edited")
    opened = console(f"/jobs/{job}")
    page = opened.page
    edit(page)
    expect(page.get_by_role("button", name="Review")).to_be_disabled()
    page.get_by_role("textbox", name="Cron").fill("0 6 * * mon-fri")
    page.get_by_label("Timeout, seconds").fill("30")
    page.get_by_role("button", name="Review").click()
    dialog = page.get_by_role("dialog", name="Review the change of edited")
    expect(dialog).to_contain_text(re.compile(r"\d fires.* move from 02:30 to 06:00, \d are dropped"))
    rows = dialog.get_by_role("table", name="Fields that change").get_by_role("row")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text("At 06:00 Monday to Friday")
    shows_each_form(dialog, job)
    assert axe_in_each_look(opened) == []
    dialog.get_by_role("button", name="Save version 2").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("heading", name="At 06:00 Monday to Friday")).to_be_visible()
    saved = api.call("GET", f"/v1/jobs/{job}")[1]
    assert (saved["cron"], saved["timeout_seconds"], saved["version"]) == ("0 6 * * mon-fri", 30, 2)
    assert saved["retry"]["max_retries"] == 3


def test_a_job_that_was_changed_meanwhile_is_not_overwritten(console: Opens, api: Api, shop: Shop) -> None:
    job = a_job(api, shop, "meanwhile")
    opened = console(f"/jobs/{job}")
    opened.watch.allow("status of 412")
    page = opened.page
    edit(page)
    page.get_by_label("Timeout, seconds").fill("30")
    assert api.call("PATCH", f"/v1/jobs/{job}", {"priority": "HIGH"})[0] == 200
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Save version 2").click()
    expect(page.get_by_role("alert")).to_contain_text("You saw version 1")
    assert api.call("GET", f"/v1/jobs/{job}")[1]["timeout_seconds"] == 60
    page.get_by_role("button", name="Review against the new version").click()
    expect(page.get_by_role("dialog")).to_contain_text("version 2")
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Save version 3").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    saved = api.call("GET", f"/v1/jobs/{job}")[1]
    assert (saved["timeout_seconds"], saved["priority"], saved["version"]) == (30, "HIGH", 3)


def test_a_refused_field_has_the_message_of_the_api(console: Opens, api: Api, shop: Shop) -> None:
    job = a_job(api, shop, "refused")
    opened = console(f"/jobs/{job}")
    opened.watch.allow("status of 422")
    page = opened.page
    edit(page)
    page.get_by_label("Retries").fill("1000")
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Save version 2").click()
    field = page.get_by_role("dialog", name=re.compile("^Edit ")).get_by_label("Retries")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description("retry.max_retries is too large; give 100 or less")


def test_a_field_is_removed_and_others_stay(console: Opens, api: Api, shop: Shop) -> None:
    job = a_job(api, shop, "cleared")
    assert api.call("PATCH", f"/v1/jobs/{job}", {"max_runs": 5, "tags": {"team": "core"}})[0] == 200
    page = console(f"/jobs/{job}").page
    edit(page)
    page.get_by_label("Maximum runs").fill("")
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_role("dialog")).to_contain_text("No fires move")
    expect(page.get_by_role("dialog").get_by_role("tabpanel")).to_contain_text("--clear max_runs")
    page.get_by_role("button", name="Save version 3").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    saved = api.call("GET", f"/v1/jobs/{job}")[1]
    assert (saved["max_runs"], saved["tags"]) == (None, {"team": "core"})


def test_the_command_of_an_edit_changes_the_job_as_the_edit_says(console: Opens, api: Api, shop: Shop) -> None:
    job = a_job(api, shop, "commanded")
    assert api.call("PATCH", f"/v1/jobs/{job}", {"requirements": {"memory_mb": 256}})[0] == 200
    page = console(f"/jobs/{job}").page
    edit(page)
    page.get_by_text("Description, headers").click()
    page.get_by_label("Capabilities of the worker").fill("python")
    page.get_by_label("Missed fires").select_option("run_all")
    page.get_by_label("Missed by more than, seconds").fill("120")
    page.get_by_label("When clocks skip the time").select_option("skip")
    page.get_by_label("When clocks show it twice").select_option("twice")
    page.get_by_label("First wait, seconds").fill("0.5")
    page.get_by_label("Then multiplied by").fill("1.5")
    page.get_by_label("Longest wait, seconds").fill("60")
    page.get_by_label("Wait a random part of that time").uncheck()
    page.get_by_role("button", name="Review").click()
    dialog = page.get_by_role("dialog", name="Review the change of commanded")
    run_shown(dialog.get_by_role("tabpanel"), api)
    saved = api.call("GET", f"/v1/jobs/{job}")[1]
    assert saved["misfire"] == {"policy": "run_all", "grace_seconds": 120}
    assert saved["dst"] == {"gap": "skip", "overlap": "twice"}
    assert saved["retry"] == {
        "max_retries": 3,
        "backoff_seconds": 0.5,
        "factor": 1.5,
        "max_backoff_seconds": 60,
        "jitter": False,
    }
    assert saved["requirements"] == {"capabilities": ["python"], "cpu": 0, "memory_mb": 256, "storage_mb": 0}
