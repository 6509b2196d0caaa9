"""Workflows: found in a list, seen as a graph or a list, explained in a sentence, and cancelled after a question."""

import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.conftest import Opens
from tests.browser.kits.axe import axe
from tests.browser.world.shop import WIDE, Shop
from tests.e2e.homes import Api

FAR = 7 * 24 * 3600


def a_workflow(api: Api, shop: Shop, name: str, **fields: Any) -> str:
    """Start a workflow of two jobs that wait for a week."""
    step = {"callback_url": shop.at("import", "row"), "delay": FAR}
    jobs = [{"key": "first", **step}, {"key": "second", "depends_on": ["first"], **step}]
    status, answer = api.call("POST", "/v1/workflows", {"name": name, "jobs": jobs, **fields})
    assert status == 202, answer
    return str(answer["workflow_id"])


def why(page: Page) -> Any:
    return expect(page.locator(".why .say"))


def graph(page: Page) -> Any:
    return page.get_by_role("group", name=re.compile("Graph of"))


def test_a_sentence_says_why_it_is_not_done(console: Opens, shop: Shop) -> None:
    page = console(f"/workflows/{shop.workflow}").page
    expect(page.get_by_role("heading", level=1)).to_contain_text("nightly-etl")
    why(page).to_contain_text("publish-dashboards waits for transform-revenue. transform-revenue runs for")
    expect(page.get_by_role("img", name="5 of 8 jobs ended")).to_be_visible()


def test_the_critical_path_is_one_straight_heavy_line(console: Opens, shop: Shop) -> None:
    page = console(f"/workflows/{shop.workflow}").page
    expect(graph(page).get_by_role("link")).to_have_count(8)
    heights = page.locator(".flow .node.crit").evaluate_all("all => all.map((one) => one.getAttribute('y'))")
    assert len(heights) == 5
    assert len(set(heights)) == 1
    expect(page.locator(".flow .edge.crit")).to_have_count(4)
    expect(page.locator(".flow .edge.crit.todo")).to_have_count(2)


def test_nodes_do_not_cover_each_other(console: Opens, shop: Shop) -> None:
    page = console(f"/workflows/{shop.workflow}").page
    boxes = page.locator(".flow .node").evaluate_all(
        "all => all.map((one) => ['x', 'y', 'width', 'height'].map((name) => Number(one.getAttribute(name))))"
    )
    for number, (x, y, width, height) in enumerate(boxes):
        for other_x, other_y, *_ in boxes[number + 1 :]:
            assert abs(x - other_x) >= width or abs(y - other_y) >= height


def test_a_node_shows_its_reason_parents_children_and_command(console: Opens, shop: Shop) -> None:
    opened = console(f"/workflows/{shop.workflow}")
    page = opened.page
    graph(page).get_by_role("link", name=re.compile("load-warehouse")).click()
    panel = page.locator(".wpanel")
    expect(panel.get_by_role("heading")).to_have_text("load-warehouse")
    expect(panel).to_contain_text("Succeeded at")
    expect(panel.get_by_role("link", name="extract-orders")).to_be_visible()
    expect(panel).to_contain_text("transform-revenue and transform-stock fail too (policy fail)")
    expect(panel.get_by_role("tabpanel")).to_contain_text("onthedot explain job_")
    assert "job=load-warehouse" in opened.route, "a link is a view"
    page.keyboard.press("j")
    expect(panel.get_by_role("heading")).to_have_text("transform-revenue")
    panel.get_by_role("link", name="Open job").click()
    expect(page).to_have_url(re.compile(r"#/jobs/job_\w+"))


def test_a_wide_workflow_is_a_list_by_pages(console: Opens, shop: Shop) -> None:
    page = console(f"/workflows/{shop.wide_workflow}").page
    why(page).to_contain_text(f"{WIDE - 1} jobs wait for begin. begin is due at")
    expect(graph(page)).to_have_count(0)
    expect(page.locator(".wjobs tbody tr")).to_have_count(100)
    page.keyboard.press("]")
    expect(page.locator(".pager")).to_contain_text(f"101 to 200 of {WIDE} jobs")
    page.get_by_role("link", name=re.compile("^Pending")).click()
    expect(page.locator(".wjobs tbody tr")).to_have_count(1)
    expect(page.locator(".wjobs")).to_contain_text("begin")


def test_the_list_has_each_workflow_with_its_progress(console: Opens) -> None:
    opened = console("/workflows")
    page = opened.page
    row = page.get_by_role("row", name=re.compile("nightly-etl"))
    expect(row).to_contain_text("5 of 8 ended")
    expect(row).to_contain_text("publish-dashboards waits for transform-revenue.")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.insert_text("import-c")
    expect(page.locator(".flows tbody tr")).to_have_count(1)
    assert "name=import-c" in opened.route
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("import-catalog")


def test_a_recurring_workflow_shows_its_schedule(console: Opens, api: Api, shop: Shop) -> None:
    workflow = a_workflow(api, shop, "weekly-close", cron="30 2 * * *", timezone="Europe/Berlin")
    page = console(f"/workflows/{workflow}").page
    why(page).to_contain_text("It has not run yet. The first run is due at")
    card = page.get_by_role("region", name="Schedule")
    expect(card).to_contain_text("At 02:30 every day, Europe/Berlin")
    expect(card).to_contain_text("UTC")
    assert axe(page) == []


def test_cancel_asks_and_then_ends_all_jobs(console: Opens, api: Api, shop: Shop) -> None:
    workflow = a_workflow(api, shop, "to-be-cancelled")
    api.wait_for(workflow, "SUCCEEDED")  # its run has made the jobs
    page = console(f"/workflows/{workflow}").page
    page.get_by_role("button", name="Cancel workflow").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 jobs that have not ended will not run")
    expect(dialog).to_contain_text(f"onthedot cancel {workflow}")
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", level=1)).to_contain_text("to-be-cancelled")
    page.get_by_role("button", name="Cancel workflow").click()
    dialog.get_by_role("button", name="Cancel workflow").click()
    expect(page.get_by_text("Workflow cancelled")).to_be_visible()
    expect(page.get_by_role("img", name="2 of 2 jobs ended")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel workflow")).to_have_count(0)
