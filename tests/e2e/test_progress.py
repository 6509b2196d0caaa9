"""Programs and handlers report how far they are, and the API shows it while they run. So does a worker over REST."""

import time
from typing import Any

import pytest

from tests.e2e.homes import Api

SCRIPT = 'echo "0.42 rows 420 of 1,000" >&$ONTHEDOT_PROGRESS_FD; cat; sleep 240'
SHELL = {"type": "shell", "argv": ["sh", "-c", SCRIPT]}
SECONDS = 60
"""Leases are extended every ten seconds, and other tests use the machine."""


def execution(api: Api, run_id: str) -> dict[str, Any]:
    status, view = api.call("GET", f"/v1/executions/{run_id}")
    assert status == 200, view
    return dict(view)


def with_progress(api: Api, run_id: str) -> dict[str, Any]:
    deadline = time.monotonic() + SECONDS
    while (view := execution(api, run_id))["progress"] is None:
        assert time.monotonic() < deadline, view
        time.sleep(0.3)
    return view


@pytest.mark.usefixtures("able_home")
def test_a_program_and_a_handler_show_their_progress_while_they_run(api: Api) -> None:
    program = api.submit(target=SHELL, timeout_seconds=300)["job_id"]
    handler = api.submit(target={"type": "python", "handler": "report"}, timeout_seconds=300)["job_id"]
    views = [with_progress(api, run_id) for run_id in (program, handler)]
    assert [(view["progress"]["fraction"], view["progress"]["text"]) for view in views] == [
        (0.42, "rows 420 of 1,000"),
        (0.5, "half"),
    ]
    for view in views:
        assert view["status"] == "RUNNING"
        assert view["started_at"] < view["progress"]["at"] < view["deadline"]
        assert view["running_ms"] > 0
    listed = api.call("GET", f"/v1/jobs/{program}/executions")[1]["executions"][0]
    assert listed["progress"] == views[0]["progress"]
    for run_id in (program, handler):
        api.call("PUT", f"/v1/jobs/{run_id}/cancel")
    # The handler sees the request and returns, so its run succeeds. The program is killed.
    api.wait_for(program, "CANCELLED", seconds=SECONDS)
    api.wait_for(handler, "SUCCEEDED", seconds=SECONDS)
    ended = [execution(api, run_id) for run_id in (program, handler)]
    assert [view["progress"] and view["progress"]["fraction"] for view in ended] == [0.42, None]
    assert [(view["deadline"], view["running_ms"]) for view in ended] == [(None, None)] * 2


def test_a_worker_over_rest_reports_progress_with_a_heartbeat(api: Api) -> None:
    resources = {"concurrency": 1, "cpu": 1, "memory_mb": 512, "storage_mb": 2000}
    offer = {"pool": "pull", "capabilities": ["shell", "disk"], "resources": resources}
    worker = api.call("POST", "/v1/workers/register", offer)[1]["worker_id"]
    view = api.call("GET", f"/v1/workers/{worker}")[1]
    assert (view["resources"]["storage_mb"], view["used"]["storage_mb"]) == (2000, 0)
    asked = {"capabilities": ["disk"], "storage_mb": 1500}
    run_id = api.submit(target=SHELL, requirements=asked)["job_id"]
    lease = _lease(api, worker)
    assert (lease["execution_id"], lease["requirements"]["storage_mb"]) == (run_id, 1500)
    path = f"/v1/executions/{run_id}"
    beat = {"attempt": 1, "progress": {"fraction": 0.25, "text": "a quarter"}}
    assert api.call("POST", f"{path}/heartbeat", beat)[0] == 200
    progress = execution(api, run_id)["progress"]
    assert (progress["fraction"], progress["text"]) == (0.25, "a quarter")
    status, refusal = api.call("POST", f"{path}/heartbeat", {"progress": {"fraction": 1.5}})
    assert (status, refusal["error"]["details"][0]["field"]) == (422, "progress.fraction")
    assert api.call("POST", f"{path}/complete", {"status": "SUCCEEDED", "attempt": 1})[0] == 200
    api.call("POST", f"/v1/workers/{worker}/heartbeat", {"running": [], "stopped": True})


def _lease(api: Api, worker: str) -> dict[str, Any]:
    deadline = time.monotonic() + SECONDS
    while not (runs := api.call("POST", f"/v1/workers/{worker}/lease", {"max": 1})[1]["runs"]):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return dict(runs[0])
