"""Incidents in which a gate, a limit or a start window holds runs up."""

from tests.browser.incidents.incident import Incident, Scene
from tests.browser.world.build import LONGEST, World
from tests.browser.world.past import MINUTE

WAITING = 4


def _full_gate(scene: Scene) -> None:
    scene.before(30 * MINUTE, lambda: scene.api.did("PUT", "/v1/gates/stripe", {"in_flight": 2}))


def _charge(world: World, scene: Scene) -> None:
    api = world.api(scene.tokens["operator"])
    for number in range(2):
        slow = {"name": f"slow-{number}", "callback_url": scene.url("hold/1"), "timeout_seconds": LONGEST}
        api.wait_for(api.submit(**slow, gates=["stripe"])["job_id"], "RUNNING")
    for _ in range(WAITING):
        made = api.submit(name="charge-card", callback_url=scene.url(), gates=["stripe"])
    scene.jobs["charge-card"] = made["job_id"]


def _full_tenant(scene: Scene) -> None:
    scene.before(30 * MINUTE, lambda: scene.api.did("PUT", f"/v1/limits/{scene.tenant}", {"in_flight": 1}))


def _crowd(world: World, scene: Scene) -> None:
    api = world.api(scene.tokens["operator"])
    slow = {"name": "slow", "callback_url": scene.url("hold/1"), "timeout_seconds": LONGEST}
    api.wait_for(api.submit(**slow)["job_id"], "RUNNING")
    for _ in range(WAITING):
        made = api.submit(name="send-mail", callback_url=scene.url())
    scene.jobs["send-mail"] = made["job_id"]


def _paused_gate(scene: Scene) -> None:
    scene.before(30 * MINUTE, lambda: scene.api.did("PUT", "/v1/gates/crm", {"in_flight": 5, "paused": True}))
    scene.before(20 * MINUTE, lambda: scene.submit("sync-contacts", gates=["crm"]))


def _too_late(scene: Scene) -> None:
    scene.before(30 * MINUTE, lambda: scene.api.did("PUT", "/v1/gates/sms", {"in_flight": 5, "paused": True}))
    scene.before(29 * MINUTE, lambda: scene.submit("send-code", gates=["sms"], start_within_seconds=60))
    scene.before(20 * MINUTE, lambda: scene.api.did("PUT", "/v1/gates/sms", {"in_flight": 5}))


LIMITS = (
    Incident(
        "full gate",
        _full_gate,
        r"waits at gate stripe: 2 of 2 places are in use; held by slow-0 \(since .*\) and slow-1 \(",
        now=_charge,
    ),
    Incident(
        "full tenant",
        _full_tenant,
        r"limits of tenant full-tenant: 1 of 1 place is in use; held by slow \(since ",
        now=_crowd,
    ),
    Incident("paused gate", _paused_gate, r"gate crm is paused"),
    Incident(
        "too late", _too_late, r"skipped.*start_within_seconds.*it waited at gate sms, because the gate was paused"
    ),
)
