"""A server on which each incident has happened, each to its own tenant, so that none hides another."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.browser.incidents.incident import Incident, Scene
from tests.browser.incidents.limits import LIMITS
from tests.browser.incidents.schedules import SCHEDULES
from tests.browser.incidents.targets import TARGETS
from tests.browser.incidents.workers import WORKERS
from tests.browser.world.build import World, a_world
from tests.browser.world.past import Past

INCIDENTS: tuple[Incident, ...] = (*SCHEDULES, *LIMITS, *WORKERS, *TARGETS)


@contextmanager
def seeded(home: Path, incidents: Sequence[Incident], **environment: str) -> Iterator[tuple[World, dict[str, Scene]]]:
    """Open a world in which these incidents have happened. Return also their scenes, by the names of incidents."""
    scenes: dict[str, Scene] = {}

    def plan(past: Past, present: int, port: int) -> None:
        for incident in incidents:
            scene = Scene(past, present, port, incident.tenant)
            scene.tokens = {role: past.token(incident.tenant, role, "console") for role in ("operator", "worker")}
            incident.seed(scene)
            scenes[incident.name] = scene

    with a_world(home, 1, plan, **environment) as world:
        for incident in incidents:
            scene = scenes[incident.name]
            for worker in scene.workers:
                world.employ(worker, scene.tokens["worker"])
            incident.now(world, scene)
        yield world, scenes
