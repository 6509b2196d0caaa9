"""Runs are found by job, worker, status and cause, and the failed ones are run again by filter, in both homes."""

import uuid
from typing import Any

from tests.e2e.homes import Api, Home, until
from tests.e2e.worker_process import a_pull_worker, only

NO_RETRY = {"max_retries": 0}


def executions(api: Api, **query: str) -> list[dict[str, Any]]:
    return api.pages("/v1/executions", "executions", limit=3, **query)


def test_the_runs_of_a_worker_and_those_that_run_now(home: Home, api: Api) -> None:
    worker_id = f"finder-{uuid.uuid4().hex[:8]}"
    with a_pull_worker(home, "--shell", worker_id=worker_id):
        short = api.submit(target={"type": "shell", "argv": ["true"]}, name="short", **only(worker_id))["job_id"]
        sleep = {"type": "shell", "argv": ["sleep", "120"]}
        long = api.submit(target=sleep, name="long", timeout_seconds=240, **only(worker_id))["job_id"]
        api.wait_for(short, "SUCCEEDED")
        api.wait_for(long, "RUNNING")
        running = {run["execution_id"]: run for run in executions(api, status="RUNNING")}
        assert (running[long]["name"], running[long]["target"]) == ("long", "shell sleep 120")
        assert short not in running
        until(lambda: {run["execution_id"] for run in executions(api, worker_id=worker_id)} == {short, long})
        assert [run["execution_id"] for run in executions(api, worker_id=worker_id, status="SUCCEEDED")] == [short]
        api.call("PUT", f"/v1/jobs/{long}/cancel")
        api.wait_for(long, "CANCELLED")


def test_failed_runs_are_counted_by_cause_and_run_again_by_filter(home: Home, api: Api) -> None:
    name = f"found-{uuid.uuid4().hex[:8]}"
    url = f"{home.listener.url}/{name}?fail=4"
    jobs = [api.submit(callback_url=url, name=f"{name}-{number}", retry=NO_RETRY)["job_id"] for number in range(4)]
    for job_id in jobs:
        api.wait_for(job_id, "FAILED")
    until(lambda: len(api.pages("/v1/dead-letters", "dead_letters", limit=3, name=name)) == 4)
    assert [run["execution_id"] for run in executions(api, job_id=jobs[0], status="FAILED")] == [jobs[0]]
    assert set(jobs) <= {run["execution_id"] for run in executions(api, status="FAILED")}
    status, counted = api.call("GET", f"/v1/dead-letters?by=cause&name={name}")
    assert (status, [(one["cause"], one["count"]) for one in counted["causes"]]) == (200, [("HTTP 503", 4)])
    status, dry = api.call("POST", "/v1/dead-letters/redrive", {"name": name, "cause": "HTTP 503", "dry_run": True})
    assert (status, dry["redriven"], dry["matched"]) == (202, 0, 4)
    status, none = api.call("POST", "/v1/dead-letters/redrive", {"name": name, "cause": "HTTP 404"})
    assert (status, none["redriven"], none["left"]) == (202, 0, False)
    status, done = api.call("POST", "/v1/dead-letters/redrive", {"name": name})
    assert (status, done["redriven"], done["left"]) == (202, 4, False)
    for job_id in jobs:
        api.wait_for(job_id, "SUCCEEDED")
