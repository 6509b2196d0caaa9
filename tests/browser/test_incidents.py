"""From the start page to the sentence that names the cause, in at most three clicks, and on from there."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpensIncident
from tests.browser.incidents.incident import MOST_CLICKS, Click, Incident, Scene
from tests.browser.incidents.seeded import INCIDENTS
from tests.browser.incidents.targets import LATE_TICK
from tests.browser.kits.console import Console, open_console
from tests.browser.world.build import World


def click(console: Console, step: Click, scene: Scene) -> None:
    name = step.name.format(job=scene.name)
    console.page.get_by_role(step.role, name=re.compile(rf"^{re.escape(name)}\b")).first.click()  # type: ignore[arg-type]
    console.settle()


def is_seen(page: Page, sentence: str) -> bool:
    return page.get_by_text(re.compile(sentence, re.IGNORECASE)).locator("visible=true").count() > 0


def find_cause(incident: Incident, world: World, scene: Scene) -> int:
    """Walk from the start page to the sentence. Return the number of clicks."""
    with open_console(world.server.url, scene.tokens["operator"], "/") as console:
        if incident is LATE_TICK:
            console.watch.allow("status of 503")
        for number, step in enumerate(incident.clicks):
            if is_seen(console.page, incident.sentence):
                return number
            click(console, step, scene)
        expect(
            console.page.get_by_text(re.compile(incident.sentence, re.IGNORECASE)).locator("visible=true").first
        ).to_be_visible()
        return len(incident.clicks)


@pytest.mark.parametrize("incident", INCIDENTS, ids=lambda incident: incident.tenant)
def test_an_operator_finds_the_cause(incident: Incident, incident_world: tuple[World, dict[str, Scene]]) -> None:
    world, scenes = incident_world
    assert find_cause(incident, world, scenes[incident.name]) <= MOST_CLICKS


def test_an_operator_sees_that_the_tick_is_late(late_world: tuple[World, dict[str, Scene]]) -> None:
    world, scenes = late_world
    assert find_cause(LATE_TICK, world, scenes[LATE_TICK.name]) == 0


def test_a_parent_is_shown_by_its_name(at_incident: OpensIncident) -> None:
    opened = at_incident("failed parent")
    opened.page.get_by_role("link", name="Parent extract", exact=True).click()
    expect(opened.page.get_by_role("heading", level=1)).to_have_text("extract")


def test_the_run_that_has_the_only_place_is_two_clicks_away(at_incident: OpensIncident) -> None:
    opened = at_incident("backlog", "/")
    page = opened.page
    expect(page.locator(".lead")).not_to_contain_text(re.compile(r"\d{4}-\d\d-\d\dT"))
    page.get_by_role("region", name="Failures and hold-ups").get_by_role("link", name=re.compile("encode-")).click()
    page.get_by_role("region", name="Why").get_by_role("link", name="Worker backlog-1").click()
    running = page.get_by_role("table", name="Table of runs now")
    running.get_by_role("link", name="encode-0", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("encode-0")


def test_the_limits_of_a_tenant_are_one_click_away(at_incident: OpensIncident) -> None:
    opened = at_incident("full tenant", "/")
    page = opened.page
    page.get_by_role("region", name="Failures and hold-ups").get_by_role("link", name=re.compile("limits of")).click()
    expect(page.get_by_role("region", name=re.compile("^Limits of tenant"))).to_be_visible()
