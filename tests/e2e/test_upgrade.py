"""An upgrade, a larger number of shards and the way back, while jobs fire: no run is lost, and none is left out."""

import time
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from localstack import local
from tests.e2e.conftest import HOME, SHARDS
from tests.e2e.deployment import Deployment
from tests.e2e.homes import Api
from tests.e2e.listener import Listener

SECONDS = 2
LONGEST_RETRY = 300


def executions(api: Api, job_id: str) -> list[dict[str, Any]]:
    return api.pages(f"/v1/jobs/{job_id}/executions", "executions", limit=100)


def fire_times_of_ended_runs(api: Api, job_id: str) -> list[int]:
    """Wait until all runs up to the current one have succeeded, and return their fire times in seconds.

    The local AWS kills a worker that it replaces. The run is tried again when its message comes again.
    """
    last = max(run["fire_time"] for run in executions(api, job_id) if run["status"] == "SUCCEEDED")
    until = time.monotonic() + LONGEST_RETRY
    while True:
        runs = [run for run in executions(api, job_id) if run["fire_time"] <= last]
        others = [run for run in runs if run["status"] != "SUCCEEDED"]
        if not others:
            return sorted(round(datetime.fromisoformat(run["fire_time"]).timestamp()) for run in runs)
        assert time.monotonic() < until, others
        time.sleep(2)


def test_jobs_fire_during_an_upgrade_and_the_way_back(deployment: Deployment, api: Api, listener: Listener) -> None:
    job = api.submit(callback_url=f"{listener.url}/upgraded", every=SECONDS, misfire={"policy": "run_all"})
    listener.wait_for("/upgraded", count=2)
    port = urlsplit(deployment.stack.endpoint_url).port
    assert port is not None
    # Another number of shards changes the environment of all functions that schedule, as a new version does.
    for shards in (SHARDS + 2, SHARDS):
        before = len(listener.at_path("/upgraded"))
        local.up(HOME, port, shards, demo=False, enforce_iam=True)
        listener.wait_for("/upgraded", count=before + 3, seconds=90)
    # A job that is stored now, under the old number again, fires too.
    later = api.submit(callback_url=f"{listener.url}/after-the-way-back", at=time.time() + 5)
    listener.wait_for("/after-the-way-back", seconds=60)
    api.wait_for(later["job_id"], "SUCCEEDED")
    times = fire_times_of_ended_runs(api, job["job_id"])
    assert api.call("PUT", f"/v1/jobs/{job['job_id']}/cancel")[0] == 200
    assert times == list(range(times[0], times[-1] + 1, SECONDS)), "each time from the first to the last has one run"
