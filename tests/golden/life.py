"""What is stored and sent while jobs live: after each step, the items or rows that it changed, and the new messages.

The limits stay within one page of places, because the page of an attempt is chosen by chance.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

from tests.golden.compare import Mask, since
from tests.golden.rest import BODIES, KINDS, SHELL, with_gates
from tests.golden.world import TENANT, World

FAIL: dict[str, Any] = {"payload": "fail", "retry": {"max_retries": 1, "backoff_seconds": 90, "jitter": False}}


def story(world: World) -> Iterator[str]:
    """Live through everything that is stored. Yield the name of each step when it is done."""
    make, call = world.make, world.call
    yield "nothing"
    with_gates(world)
    call("PUT", f"/v1/limits/{TENANT}", {"in_flight": 8, "per_second": 100, "burst": 50, "weight": 2})
    yield "gates and limits"
    token = call("POST", "/v1/tokens", {"tenant": TENANT, "role": "viewer", "name": "ada"})
    other = call("POST", "/v1/tokens", {"tenant": TENANT, "role": "worker", "name": "bob", "expires_at": 1_772_400_000})
    for made in (token, other):
        world.names[hashlib.sha256(made["token"].encode()).hexdigest()] = f"hash of {made['name']}"
    call("GET", "/v1/signing-keys")
    yield "tokens and a signing key"
    call("DELETE", f"/v1/tokens/{token['id']}")
    call("POST", "/v1/signing-keys/rotate", {"overlap_seconds": 300})
    yield "token revoked, key rotated"
    far = make("far", **{**KINDS["full"], "delay": 420})
    yield "one-off, far"
    near = make("near", payload={"n": 1}, priority="HIGH")
    make("later", delay=300)
    yield "one-off, near, and one that the second tick claims"
    make("large", **KINDS["large"])
    yield "one-off with a large payload"
    make("recurring", **KINDS["recurring"])
    make("steady", every=90)
    every = make("every", every=60, max_runs=2)
    yield "recurring"
    event = make("event", **KINDS["event"])
    yield "event job"
    make("child", dependencies=[far])
    yield "child"
    make("wf", "/v1/workflows", jobs=BODIES["workflows"][0]["jobs"])
    yield "workflow"
    failing = make("failing", **FAIL)
    holder, waiting = make("holder", gates=["stripe"]), make("waiting", gates=["stripe", "customer:7"])
    yield "jobs to execute"
    world.start(near)
    world.start(holder)
    yield "started"
    call(
        "POST",
        f"/v1/executions/{near}/heartbeat",
        {"worker_id": "worker-1", "progress": {"fraction": 0.5, "text": "half"}},
    )
    yield "progress"
    world.execute(failing)
    yield "failed, to be tried again"
    world.execute(waiting)
    yield "waits at a gate"
    world.execute_due()
    yield "finished"
    for name in (far, every):
        call("POST", f"/v1/jobs/{name}/pause")
    yield "paused"
    for name in (far, every):
        call("POST", f"/v1/jobs/{name}/resume")
    call("PATCH", f"/v1/jobs/{far}", {"name": "changed", "gates": None})
    yield "resumed and changed"
    call("POST", "/v1/events", {**BODIES["events"][0], "id": "event-1"})
    call("POST", f"/v1/jobs/{every}/run", {"payload": {"other": 1}})
    yield "an event, and a run on demand"
    world.tick(execute=False)
    yield "tick: stamped"
    world.execute_due()
    yield "executed"
    world.tick(execute=False)
    yield "second tick"
    world.execute_due()
    world.tick()
    yield "failed for good"
    call("POST", "/v1/dead-letters/redrive", {"ids": [failing]})
    yield "redriven"
    worker = call("POST", "/v1/workers/register", {"capabilities": ["shell"], "host": "h1"})["worker_id"]
    world.names[worker] = "worker"
    pulled = make("pulled", target=SHELL)
    yield "worker and a job for it"
    (run,) = call("POST", f"/v1/workers/{worker}/lease", {})["runs"]
    said = {"attempt": run["attempt"], "receipt": run["receipt"]}
    call("POST", f"/v1/executions/{pulled}/heartbeat", {**said, "progress": {"fraction": 0.25, "text": "part"}})
    yield "leased and kept"
    call("POST", f"/v1/executions/{pulled}/complete", {**said, "status": "SUCCEEDED", "result": {"ok": [1]}})
    call("POST", f"/v1/workers/{worker}/heartbeat", {"used": {"concurrency": 1}, "running": []})
    yield "completed"
    call("PUT", f"/v1/jobs/{far}/cancel")
    yield "cancelled, and its child with it"
    world.count_ends()
    yield "counted"
    for name in (every, event, near):
        call("DELETE", f"/v1/jobs/{name}")
    call("DELETE", "/v1/gates/customer")
    call("DELETE", f"/v1/limits/{TENANT}")
    yield "deleted"
    odd = world.engine.store.get(make("odd", delay=3_600))
    assert odd is not None
    assert odd.slot is not None
    world.engine.store.set_aside(odd.run_id, odd.slot, "recorded", world.clock.now())
    yield "set aside"
    call("POST", "/v1/stage/freeze")
    yield "frozen"


def life_recording(world: World) -> Any:
    """Return what each step added, changed and removed."""
    before: dict[str, Any] = {}
    steps = []
    for name in story(world):
        now = world.stored()
        changed = {key: since(before.get(key), value, key) for key, value in now.items() if before.get(key) != value}
        gone = sorted(before.keys() - now.keys())
        steps.append({"do": name, "stored": changed, **({"gone": gone} if gone else {})})
        before = now
        world.counter.jump()
    return Mask(world.names).value(steps)
