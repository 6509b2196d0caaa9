"""Gates: how full they are, who waits and why; made, changed, paused and deleted by roles that may."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import Opens
from tests.browser.kits.axe import axe, axe_in_each_look
from tests.browser.world.shop import Shop
from tests.e2e.homes import Api


def test_the_list_says_what_is_paused_and_what_is_full(console: Opens) -> None:
    page = console("/gates").page
    expect(page.locator(".lead")).to_contain_text("crm is paused while runs wait")
    crm = page.get_by_role("row", name=re.compile("crm"))
    expect(crm).to_contain_text("Paused")
    expect(crm).to_contain_text("5 at a time")
    stripe = page.get_by_role("row", name=re.compile("stripe"))
    expect(stripe).to_contain_text("2 of 2")
    expect(stripe).to_contain_text("2 at a time, 10 per second")


def test_a_gate_says_why_runs_wait_and_who_they_are(console: Opens, shop: Shop) -> None:
    opened = console("/gates/stripe")
    page = opened.page
    expect(page.locator(".why .say")).to_contain_text(re.compile(r"\d runs wait, because 2 of 2 places are taken\."))
    waiting = page.get_by_role("region", name="Runs that wait at the gate, the oldest first")
    expect(waiting.get_by_role("link", name="charge-order").first).to_be_visible()
    holders = page.get_by_role("region", name="Attempts that have a place, longest first")
    expect(holders.locator("tbody tr")).to_have_count(2)
    holders.get_by_role("link", name="charge-order").first.click()
    expect(page).to_have_url(re.compile(r"#/jobs/job_\w+\?run=job_\w+"))


def test_a_gate_is_made_changed_paused_resumed_and_deleted(console: Opens, api: Api) -> None:
    opened = console("/gates")
    page = opened.page
    page.get_by_role("button", name="New gate").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Name")).to_be_focused()
    page.keyboard.type("mailer")
    dialog.get_by_label("At a time").fill("3")
    expect(dialog.get_by_role("tabpanel")).to_have_text("onthedot gates set mailer --in-flight 3")
    dialog.get_by_role("tab", name="Python").click()
    expect(dialog.get_by_role("tabpanel")).to_contain_text('Client().set_gate("mailer", in_flight=3)')
    assert axe(page) == []
    page.keyboard.press("Shift+Tab")
    dialog.get_by_role("button", name="Create gate").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("mailer")
    assert opened.route == "/gates/mailer"

    opened.settle()
    page.keyboard.press("e")
    dialog.get_by_label("Per second").fill("2.5")
    dialog.get_by_role("button", name="Set limits").click()
    expect(dialog).to_have_count(0)
    gate = api.call("GET", "/v1/gates/mailer")[1]
    assert (gate["in_flight"], gate["per_second"], gate["paused"]) == (3, 2.5, False)

    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".why .say")).to_contain_text("The gate is paused.")
    gate = api.call("GET", "/v1/gates/mailer")[1]
    assert (gate["in_flight"], gate["per_second"], gate["paused"]) == (3, 2.5, True), "its limits stay"
    page.keyboard.press("p")
    expect(page.locator(".why .say")).to_contain_text("No runs are waiting here.")
    assert api.call("GET", "/v1/gates/mailer")[1]["paused"] is False

    page.get_by_role("button", name="Delete").click()
    expect(dialog).to_contain_text("onthedot gates delete mailer")
    page.keyboard.press("Escape")
    assert api.call("GET", "/v1/gates/mailer")[0] == 200
    opened.watch.allow("/v1/gates/mailer")  # the page may ask once more before it hears that the gate is gone
    page.get_by_role("button", name="Delete").click()
    dialog.get_by_role("button", name="Delete gate").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Gates")
    assert api.call("GET", "/v1/gates/mailer")[0] == 404


def test_the_messages_of_the_api_stand_at_their_fields(console: Opens) -> None:
    opened = console("/gates")
    opened.watch.allow("status of 422")
    page = opened.page
    page.get_by_role("button", name="New gate").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Create gate").click()
    expect(dialog.get_by_label("Name")).to_have_attribute("aria-invalid", "true")
    dialog.get_by_label("Name").fill("slow")
    dialog.get_by_label("At a time").fill("-1")
    dialog.get_by_role("button", name="Create gate").click()
    expect(dialog.get_by_label("At a time")).to_have_attribute("aria-invalid", "true")
    expect(dialog.get_by_role("alert")).to_be_visible()
    assert axe_in_each_look(opened) == []


def test_a_key_has_a_page_of_its_own(console: Opens, api: Api, shop: Shop) -> None:
    assert api.call("PUT", "/v1/gates/customer", {"in_flight": 1, "paused": True})[0] == 200
    made = api.submit(name="sync-customer", callback_url=shop.at("crm", "one"), gates=["customer:42"])["job_id"]
    try:
        page = console("/gates/customer").page
        page.get_by_role("link", name="42").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("customer, key 42")
        expect(page.get_by_role("link", name="sync-customer")).to_be_visible()
        expect(page.get_by_role("button", name="Pause")).to_have_count(0)
        page.keyboard.press("Escape")
        expect(page.get_by_role("heading", level=1)).to_have_text("Gates")
    finally:
        api.call("PUT", f"/v1/jobs/{made}/cancel")
        api.call("DELETE", "/v1/gates/customer")
