"""From the start page to the sentence that names the cause, in at most three clicks."""

import re

import pytest
from playwright.sync_api import Page, expect

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
