"""The keyboard does everything: palette, help, moves between pages, theme, and focus that is never lost."""

import re
from datetime import UTC, datetime

from playwright.sync_api import expect

from tests.browser.conftest import Opens

PAGES = {
    "o": "/",
    "j": "/jobs",
    "f": "/workflows",
    "s": "/schedule",
    "d": "/dead-letters",
    "w": "/workers",
    "q": "/queues",
    "g": "/gates",
}


def test_the_palette_finds_a_job_as_one_types_and_opens_it(console: Opens) -> None:
    opened = console("/gates")
    page = opened.page
    page.keyboard.press("Control+k")
    search = page.get_by_role("combobox", name="Search jobs, pages and actions")
    expect(search).to_be_focused()
    page.keyboard.type("settle-p")
    expect(page.get_by_role("option", name="settle-payouts").first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("settle-payouts")
    assert re.match(r"/jobs/job_\w+", opened.route)


def test_enter_opens_no_job_of_the_text_before(console: Opens) -> None:
    page = console("/gates").page
    page.keyboard.press("Control+k")
    page.keyboard.type("settle-p")
    expect(page.get_by_role("option", name="settle-payouts").first).to_be_visible()
    page.route("**/v1/jobs?name=queues*", lambda route: None)  # its answer does not come
    page.get_by_role("combobox").fill("queues")
    expect(page.get_by_role("option", name="settle-payouts")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("Queues"))


def test_the_palette_leads_to_pages_and_gives_the_focus_back(console: Opens) -> None:
    opened = console("/gates")
    page = opened.page
    find = page.get_by_role("button", name="Search jobs, pages and actions")
    find.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(find).to_be_focused()
    page.keyboard.press("Control+k")
    page.keyboard.type("queues")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("Queues"))


def test_help_shows_the_keys_and_can_switch_single_keys_off(console: Opens) -> None:
    opened = console("/gates")
    page = opened.page
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard")
    expect(dialog).to_contain_text("dead letters")
    dialog.get_by_role("checkbox").uncheck()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.keyboard.press("?")
    expect(dialog).to_have_count(0)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()


def test_two_keys_lead_to_each_page(console: Opens) -> None:
    opened = console(None, role="viewer")
    opened.page.clock.set_fixed_time(datetime.now(UTC))  # the second key must come soon, also on a busy machine
    opened.go("/gates")
    for key, path in PAGES.items():
        opened.page.keyboard.press("g")
        opened.page.keyboard.press(key)
        expect(opened.page).to_have_url(re.compile(rf"#{path}(\?.*)?$"))
        opened.settle()


def test_the_first_tab_skips_to_the_content(console: Opens) -> None:
    page = console("/gates").page
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_t_switches_the_theme_and_the_choice_is_kept(console: Opens) -> None:
    page = console("/gates").page
    body, background = page.locator("body"), "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.keyboard.press("t")
    expect(body).not_to_have_css("background-color", light)
    dark = page.evaluate(background)
    page.reload()
    expect(body).to_have_css("background-color", dark)


def test_u_switches_to_utc(console: Opens) -> None:
    page = console("/gates").page
    page.keyboard.press("u")
    expect(page.get_by_role("banner")).to_contain_text("UTC")


def test_n_opens_a_new_job_for_an_operator(console: Opens) -> None:
    """`test_viewer.py` presses it as a viewer."""
    page = console("/gates").page
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile("#/new"))
