"""The list of jobs: find by name, filters in the address, pages, the keyboard, and acts on many with a way back."""

import re
from typing import Any

from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Opens
from tests.browser.kits.console import wait_until_held
from tests.browser.world.shop import Shop
from tests.e2e.homes import Api

FAR = "0 4 1 1 *"
"""A schedule that does not fire while the tests run."""


def some_jobs(api: Api, shop: Shop, prefix: str, number: int) -> list[str]:
    """Submit jobs `PREFIX-000`, `PREFIX-001` … and return their ids."""
    url = shop.at("reports", prefix)
    jobs = [{"name": f"{prefix}-{one:03}", "cron": FAR, "callback_url": url} for one in range(number)]
    status, answer = api.call("POST", "/v1/jobs/batch", {"jobs": jobs})
    assert status in (200, 202), answer
    return [job["job_id"] for job in answer["jobs"]]


def statuses(api: Api, ids: list[str]) -> list[str]:
    return [api.call("GET", f"/v1/jobs/{one}/status")[1]["status"] for one in ids]


def bar(page: Page) -> Any:
    return page.get_by_role("region", name="Bulk actions")


def test_a_name_is_found_as_one_types_and_stands_in_the_address(console: Opens) -> None:
    opened = console("/jobs")
    opened.page.get_by_label("Find by the start of a name").press_sequentially("settle-p")
    expect(opened.page.get_by_role("row")).to_have_count(2)
    expect(opened.page.get_by_role("link", name="settle-payouts")).to_be_visible()
    assert opened.route == "/jobs?name=settle-p"
    opened.page.get_by_label("Find by the start of a name").fill("no-such-name")
    expect(opened.page.get_by_role("heading", name="No job matches")).to_be_visible()


def test_filters_are_in_the_address_and_a_link_is_a_view(console: Opens) -> None:
    opened = console("/jobs?tag=team%3Dreports&kind=recurring")
    page = opened.page
    expect(page.get_by_role("row")).to_have_count(25)
    page.get_by_role("button", name="Remove the filter tag team=reports").click()
    page.get_by_label("Priority").select_option("HIGH")
    expect(page.get_by_role("link", name="settle-payouts")).to_be_visible()
    expect(page.get_by_role("link", name="daily-report-01")).to_have_count(0)
    assert opened.route == "/jobs?kind=recurring&priority=HIGH"
    page.get_by_role("group", name="Status").get_by_role("button", name="Paused").click()
    expect(page.get_by_role("heading", name="No job matches")).to_be_visible()
    assert "status=PAUSED" in opened.route
    page.get_by_role("group", name="Kind").get_by_role("link", name="All kinds").click()
    page.get_by_label("Priority").select_option("")
    expect(page.get_by_role("link", name="export-orders")).to_be_visible()


def test_a_tag_is_chosen_in_a_dialog(console: Opens) -> None:
    opened = console("/jobs")
    opened.page.get_by_role("button", name="Filter", exact=True).click()
    dialog = opened.page.get_by_role("dialog", name="More filters")
    expect(dialog.get_by_label("Tag")).to_be_focused()
    dialog.get_by_label("Tag").fill("team=data")
    dialog.get_by_role("button", name="Filter").click()
    expect(opened.page.get_by_role("row")).to_have_count(2)
    assert opened.route == "/jobs?tag=team%3Ddata"


def test_brackets_turn_pages_by_cursor(console: Opens) -> None:
    opened = console("/jobs?kind=one-off")
    page = opened.page
    rows = page.get_by_role("row")
    expect(rows).to_have_count(51)
    first = page.locator("tbody tr a").first.get_attribute("href")
    page.keyboard.press("]")
    expect(page).to_have_url(re.compile("cursor="))
    opened.settle()
    expect(rows).to_have_count(51)
    assert page.locator("tbody tr a").first.get_attribute("href") != first
    page.keyboard.press("[")
    expect(page).not_to_have_url(re.compile("cursor="))
    opened.settle()
    expect(page.locator("tbody tr a").first).to_have_attribute("href", str(first))


def test_the_list_is_driven_by_keys_alone(console: Opens) -> None:
    page = console("/jobs?tag=team%3Dreports").page
    names = page.locator("tbody a.name")
    expect(names).to_have_count(24)
    page.keyboard.press("j")
    expect(names.nth(0)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Shift+X")
    expect(bar(page)).to_contain_text("3 selected")
    page.keyboard.press("k")
    expect(names.nth(2)).to_be_focused()
    page.keyboard.press("b")
    expect(bar(page).get_by_role("button", name="Run now")).to_be_focused()
    page.keyboard.press("Escape")
    expect(bar(page)).to_have_count(0)
    page.keyboard.press("a")
    expect(bar(page)).to_contain_text("All that match")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    name = names.nth(0).inner_text()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(name)


def test_a_bulk_act_has_a_dry_run_a_result_and_a_way_back(console: Opens, api: Api, shop: Shop) -> None:
    ids = some_jobs(api, shop, "bulk-selected", 3)
    assert api.call("POST", f"/v1/jobs/{ids[2]}/pause")[0] == 200
    page = console("/jobs?name=bulk-selected").page
    for number in range(3):
        page.get_by_role("checkbox", name=f"Select bulk-selected-{number:03}").check()
    bar(page).get_by_role("button", name="Pause").click()
    expect(bar(page)).to_contain_text("3 match. 2 would pause, 1 is already paused.")
    assert statuses(api, ids) == ["ACTIVE", "ACTIVE", "PAUSED"], "a dry run changes nothing"
    bar(page).get_by_text("CLI, curl, Python").click()
    expect(bar(page).get_by_role("tabpanel")).to_contain_text(f"onthedot pause {ids[0]}"[:14])
    bar(page).get_by_role("button", name="Pause 2 jobs").click()
    expect(bar(page)).to_contain_text("2 jobs paused")
    assert statuses(api, ids) == ["PAUSED"] * 3
    bar(page).get_by_role("button", name="Resume the 2 again").click()
    expect(bar(page)).to_contain_text("2 jobs resumed")
    assert statuses(api, ids) == ["ACTIVE", "ACTIVE", "PAUSED"], "the third was paused before"


def test_a_bulk_act_on_all_that_match_names_what_failed(console: Opens, api: Api, shop: Shop) -> None:
    ids = some_jobs(api, shop, "bulk-all", 2)
    held = api.submit(name="bulk-all-runs", callback_url=shop.at("reports", "hold/bulk"))["job_id"]
    api.wait_for(held, "RUNNING")
    page = console("/jobs?name=bulk-all").page
    expect(page.get_by_role("row")).to_have_count(4)
    page.keyboard.press("a")
    bar(page).get_by_role("button", name="Pause").click()
    bar(page).get_by_role("button", name="Pause 3 jobs").click()
    expect(bar(page)).to_contain_text("2 done, 1 failed")
    expect(bar(page)).to_contain_text("bulk-all-runs was not paused: a job that is RUNNING cannot be paused")
    assert statuses(api, ids) == ["PAUSED", "PAUSED"]
    bar(page).get_by_role("link", name="Open it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("bulk-all-runs")


def test_stop_ends_a_bulk_act_after_the_step_that_runs(console: Opens, api: Api, shop: Shop) -> None:
    ids = some_jobs(api, shop, "bulk-stop", 130)
    page = console("/jobs?name=bulk-stop").page
    held: list[Route] = []

    def hold(route: Route) -> None:
        if '"dry_run":true' in (route.request.post_data or ""):
            route.continue_()
        else:
            held.append(route)

    page.route("**/v1/jobs/bulk", hold)
    page.keyboard.press("a")
    bar(page).get_by_role("button", name="Delete").click()
    bar(page).get_by_role("button", name="Delete 130 jobs").click()
    expect(bar(page)).to_contain_text("Deleting 130 jobs")
    step = wait_until_held(page, held)
    bar(page).get_by_role("button", name="Stop").click()
    step.continue_()
    expect(bar(page)).to_contain_text("100 jobs deleted")
    expect(bar(page)).to_contain_text("stopped")
    assert len(held) == 1, "no step after Stop"
    gone = [api.call("GET", f"/v1/jobs/{one}")[0] for one in ids].count(404)
    assert gone == 100
