"""Each end of a run is counted once, for its tenant, and the overview shows it, in each home."""

import time
import uuid
from typing import Any

from tests.e2e.homes import Api, Home
from tests.e2e.listener import Listener

WANTED = {"succeeded": 3, "failed": 1, "skipped": 0, "cancelled": 1, "retries": 1}


def numbers(api: Api) -> dict[str, int]:
    status, answer = api.call("GET", "/v1/statistics")
    assert status == 200, answer
    return {name: answer["total"][name] for name in WANTED}


def counted(api: Api, seconds: float = 90) -> dict[str, int]:
    """The counters once they have all ends. On AWS they are some seconds behind."""
    deadline = time.monotonic() + seconds
    while sum((found := numbers(api)).values()) < sum(WANTED.values()) and time.monotonic() < deadline:
        time.sleep(api.poll_seconds)
    return found


def test_each_end_is_counted_once_and_the_overview_shows_it(home: Home, listener: Listener) -> None:
    api = home.api_of(f"counted-{uuid.uuid4()}")
    jobs = [api.submit(callback_url=f"{listener.url}/counted") for _ in range(3)]
    retry = {"max_retries": 1, "backoff_seconds": 0, "jitter": False}
    failing = api.submit(name="failing", callback_url=f"{listener.url}/failing?fail=9", retry=retry)
    later = api.submit(callback_url=f"{listener.url}/later", delay=3600)
    assert api.call("PUT", f"/v1/jobs/{later['job_id']}/cancel")[0] == 200
    for job in jobs:
        api.wait_for(job["job_id"], "SUCCEEDED")
    api.wait_for(failing["job_id"], "FAILED")
    assert counted(api) == WANTED
    status, overview = api.call("GET", "/v1/overview")
    assert status == 200, overview
    assert "unknown" not in overview
    assert {name: overview["hour"][name] for name in WANTED} == WANTED
    assert_shows_the_failure(overview, failing["job_id"])
    # The runs of another tenant, and of the stage itself, are not among them.
    assert sum(numbers(home.api_of(f"other-{uuid.uuid4()}")).values()) == 0


def assert_shows_the_failure(overview: Any, job_id: str) -> None:
    [failure] = overview["failures"]
    assert (failure["job_id"], failure["name"]) == (job_id, "failing")
    assert [(cause["cause"], cause["count"]) for cause in overview["causes"]] == [("HTTP 503", 1)]
    # Runs may also start late on a busy machine, and runs of other tests may hold up a queue: the summary says so.
    assert overview["summary"]["state"] in {"failing", "late", "held_up"}
    wanted = "5 runs in the last hour, 1 failed, 1 cancelled. The largest cause: HTTP 503 (1)."
    assert wanted in overview["summary"]["message"]
    assert sum(overview["hour"]["lateness"]["counts"]) == 4
