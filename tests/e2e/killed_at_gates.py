"""Workers that are killed while they have a place at a gate. Each place must be free again soon."""

from dataclasses import dataclass
from typing import Any

from tests.e2e.deployment import Deployment
from tests.e2e.gate_times import put_gate
from tests.e2e.homes import until
from tests.e2e.worker_process import APP, only, start_worker

WAYS = {"rest": (), "direct": ("--direct",)}
"""How a worker gets its runs, and the options for it."""


@dataclass(frozen=True)
class KilledAtGate:
    """A worker that was killed, its run, and a run of another pool that waits for the one place."""

    killed_at: float
    lost: dict[str, Any]
    waiting: dict[str, Any]


def begin_killed_at_gates(deployment: Deployment) -> dict[str, KilledAtGate]:
    """Let a worker of each kind get a place, and kill it there."""
    return {way: _kill(deployment, way, *options) for way, options in WAYS.items()}


def _kill(deployment: Deployment, way: str, *options: str) -> KilledAtGate:
    api, gate = deployment.api, f"killed-{way}"
    put_gate(api, gate, in_flight=1)
    worker = start_worker(deployment, *options, "--app", APP, worker_id=gate)
    nap = {"type": "python", "handler": "nap"}
    lost = api.submit(target=nap, payload=600, timeout_seconds=900, gates=[gate], **only(gate))
    api.wait_for(lost["job_id"], "RUNNING", seconds=60)
    waiting = api.submit(callback_url=f"{deployment.listener.url}/{gate}", gates=[gate])
    until(lambda: api.call("GET", f"/v1/gates/{gate}")[1]["waiting"] == 1, 60)
    return KilledAtGate(worker.kill(), lost, waiting)
