"""Incidents of targets, parents, and of the scheduler itself."""

from tests.browser.incidents.incident import Incident, Scene
from tests.browser.world.past import HOUR, MINUTE
from tests.browser.world.targets import down

ONCE = {"max_retries": 0}


def _down(scene: Scene) -> None:
    scene.past.targets.rules[f"{scene.tenant}.internal"] = down(scene.present - 20 * MINUTE, scene.present + HOUR)
    retry = {"max_retries": 1, "backoff_seconds": 1}
    # The last retry is over before the present: the target of the running server is up.
    end_at = (scene.present - MINUTE) / 1000
    scene.before(40 * MINUTE, lambda: scene.submit("poll-carrier", every=60, retry=retry, end_at=end_at))


def _failed_parent(scene: Scene) -> None:
    scene.past.targets.rules[f"{scene.tenant}.internal/extract"] = down(0, scene.present + HOUR)

    def submit() -> None:
        parent = scene.api.submit(name="extract", callback_url=scene.url("extract"), retry=ONCE)
        scene.submit("load", dependencies=[parent])
        scene.jobs["extract"] = parent

    scene.before(30 * MINUTE, submit)


def _nothing(scene: Scene) -> None:
    scene.before(30 * MINUTE, lambda: scene.submit("every-minute", every=60))


TARGETS = (
    Incident("target down", _down, r"503", ()),
    Incident("failing and ended", _down, r"its last \d+ runs failed, since .*: HTTP 503"),
    Incident("failed parent", _failed_parent, r"its parent extract \(job_.* failed: "),
)
LATE_TICK = Incident("late tick", _nothing, r"\blate\b|no tick", ())
"""It needs a server of its own, because all tenants share the ticks."""
