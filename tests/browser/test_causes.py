"""Each incident is seeded, and the API has the sentence that names its cause."""

import re
import time

import pytest

from tests.browser.incidents.incident import Incident, Scene
from tests.browser.incidents.seeded import INCIDENTS
from tests.browser.incidents.targets import LATE_TICK
from tests.browser.world.build import World

SECONDS = 30


def names_cause(incident: Incident, world: World, scene: Scene) -> None:
    """Wait for the sentence: the last runs of a scene may just be on their way to where they wait."""
    api, deadline = world.api(scene.tokens["operator"]), time.monotonic() + SECONDS
    while not re.search(incident.sentence, said := incident.said(api, scene), re.IGNORECASE):
        assert time.monotonic() < deadline, f"{incident.sentence!r} is not in:\n{said}"
        time.sleep(0.2)


@pytest.mark.parametrize("incident", INCIDENTS, ids=lambda incident: incident.tenant)
def test_the_api_names_the_cause(incident: Incident, incident_world: tuple[World, dict[str, Scene]]) -> None:
    world, scenes = incident_world
    names_cause(incident, world, scenes[incident.name])


def test_the_api_says_that_the_tick_is_late(late_world: tuple[World, dict[str, Scene]]) -> None:
    world, scenes = late_world
    names_cause(LATE_TICK, world, scenes[LATE_TICK.name])
