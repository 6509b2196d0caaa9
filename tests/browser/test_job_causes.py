"""The ways from a job to its cause: its parents by their names, its worker, its retries, and reasons as a whole."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import Opens
from tests.browser.incidents.incident import Scene
from tests.browser.kits.axe import axe_in_each_look
from tests.browser.kits.console import SIZES, open_console
from tests.browser.world.build import World
from tests.browser.world.shop import Shop
from tests.e2e.homes import Api

Worlds = tuple[World, dict[str, Scene]]


def test_a_parent_is_shown_by_its_name(incident_world: Worlds) -> None:
    world, scenes = incident_world
    scene = scenes["failed parent"]
    with open_console(world.server.url, scene.tokens["operator"], f"/jobs/{scene.job}") as opened:
        opened.page.get_by_role("link", name="Parent extract", exact=True).click()
        expect(opened.page.get_by_role("heading", level=1)).to_have_text("extract")


def test_a_parent_without_a_name_is_shown_by_its_id(console: Opens, api: Api, shop: Shop) -> None:
    parent = api.submit(callback_url=shop.at("reports", "nameless"), delay=3_600)["job_id"]
    child = api.submit(name="child", callback_url=shop.at("reports", "child"), dependencies=[parent])["job_id"]
    page = console(f"/jobs/{child}").page
    expect(page.get_by_role("link", name=re.compile(f"^Parent {parent[:12]}…"))).to_have_attribute("title", parent)


def test_the_run_that_has_the_only_place_is_two_clicks_away(incident_world: Worlds) -> None:
    world, scenes = incident_world
    with open_console(world.server.url, scenes["backlog"].tokens["operator"], "/") as opened:
        page = opened.page
        expect(page.locator(".lead")).not_to_contain_text(re.compile(r"\d{4}-\d\d-\d\dT"))
        page.get_by_role("region", name="Failures and hold-ups").get_by_role("link", name=re.compile("encode-")).click()
        page.get_by_role("region", name="Why").get_by_role("link", name="Worker backlog-1").click()
        running = page.get_by_role("table", name="Table of runs now")
        running.get_by_role("link", name="encode-0", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("encode-0")


def test_the_reason_why_a_run_waits_is_of_now(incident_world: Worlds) -> None:
    world, scenes = incident_world
    scene = scenes["no worker"]
    with open_console(world.server.url, scene.tokens["operator"], f"/jobs/{scene.job}") as opened:
        why = opened.page.get_by_role("region", name="Why")
        why.get_by_text("What happened to its latest run").click()
        expect(why.get_by_role("listitem").last).to_contain_text(re.compile("^now.*pool pull"))


def test_the_limits_of_a_tenant_are_one_click_away(incident_world: Worlds) -> None:
    world, scenes = incident_world
    scene = scenes["full tenant"]
    with open_console(world.server.url, scene.tokens["operator"], "/") as opened:
        page = opened.page
        page.get_by_role("region", name="Failures and hold-ups").get_by_role(
            "link", name=re.compile("limits of")
        ).click()
        expect(page.get_by_role("region", name=re.compile("^Limits of tenant"))).to_be_visible()


def test_words_after_worker_are_no_worker(incident_world: Worlds) -> None:
    world, scenes = incident_world
    scene = scenes["no worker"]
    with open_console(world.server.url, scene.tokens["operator"], f"/jobs/{scene.job}") as opened:
        why = opened.page.get_by_role("region", name="Why")
        expect(why).to_contain_text("live worker of pool pull that serves tenant no-worker")
        expect(why.get_by_role("link", name=re.compile("^Worker"))).to_have_text(["Worker no-worker-1"])


def test_a_retry_that_has_not_ended_is_no_success_after_a_retry(
    console: Opens, api: Api, shop: Shop, world: World
) -> None:
    world.listener.down.add("/flaky")
    retry = {"max_retries": 1, "backoff_seconds": 600, "jitter": False}
    job = api.submit(name="flaky", callback_url=shop.at("reports", "flaky"), retry=retry)["job_id"]
    api.wait_for(job, "RETRYING")
    opened = console(f"/jobs/{job}")
    runs = opened.page.get_by_role("region", name="Runs", exact=True)
    expect(runs.locator(".legend > span").last).to_have_text("waiting to retry")
    expect(runs.locator("svg.chart .k-again")).to_have_count(1)
    expect(runs.locator("svg.chart .k-retry")).to_have_count(0)
    assert axe_in_each_look(opened) == []


def test_a_reason_of_the_history_is_not_cut(incident_world: Worlds) -> None:
    world, scenes = incident_world
    scene = scenes["target down"]
    with open_console(world.server.url, scene.tokens["operator"], f"/jobs/{scene.job}") as opened:
        for size in SIZES.values():
            opened.look("light", size)
            reason = opened.page.get_by_role("table", name="Past runs").locator(".h-why .cut").nth(2)
            expect(reason).to_contain_text("2 of 2 attempts failed: answered 503: no healthy upstream")
            hidden = reason.evaluate(
                "(one) => [one.scrollWidth - one.clientWidth, one.scrollHeight - one.clientHeight]"
            )
            assert hidden == [0, 0]
