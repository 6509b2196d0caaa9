"""A server that is stopped, killed and started again: no run is lost, and none runs twice without need."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import urllib3

from tests.e2e.homes import Api
from tests.e2e.listener import Listener, listening
from tests.served import ServerProcess, a_server, start_server


@pytest.fixture
def listener() -> Iterator[Listener]:
    with listening() as made:
        yield made


def api_of(server: ServerProcess) -> Api:
    return Api(server.url, server.token, 0.02)


def outcomes(api: Api, job_id: str) -> list[str]:
    _, run = api.call("GET", f"/v1/executions/{job_id}")
    return [attempt["outcome"] for attempt in run["attempts"]]


def test_a_run_that_is_under_way_finishes_before_the_server_ends(tmp_path: Path, listener: Listener) -> None:
    with a_server(tmp_path) as server, urllib3.PoolManager() as idle:
        assert idle.request("GET", f"{server.url}/v1/health", preload_content=True).status == 200
        job = api_of(server).submit(callback_url=f"{listener.url}/finishing?hang=0.7")
        listener.wait_for("/finishing")
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < 9, "it waited for its grace, or for a connection without a request"
    with a_server(tmp_path) as again:
        assert outcomes(api_of(again), job["job_id"]) == ["succeeded"]
    assert len(listener.at_path("/finishing")) == 1


def test_a_run_that_outlasts_the_grace_is_handed_back_and_runs_after_the_restart(
    tmp_path: Path, listener: Listener
) -> None:
    with a_server(tmp_path, "--grace", "0.3") as server:
        job = api_of(server).submit(callback_url=f"{listener.url}/long?hang=30", timeout_seconds=60)
        listener.wait_for("/long")
        began = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - began < 25, "it waited for the run"
    with a_server(tmp_path) as again:
        api_of(again).wait_for(job["job_id"], "SUCCEEDED")
        assert outcomes(api_of(again), job["job_id"]) == ["released", "succeeded"]


def test_a_second_signal_ends_the_server_at_once(tmp_path: Path, listener: Listener) -> None:
    with a_server(tmp_path, "--grace", "60") as server:
        job = api_of(server).submit(callback_url=f"{listener.url}/twice?hang=40", timeout_seconds=60)
        listener.wait_for("/twice")
        server.ask_to_stop()
        time.sleep(1)
        assert server.process.poll() is None, "it waits for the run"
        began = time.monotonic()
        assert server.stop() != 0
        assert time.monotonic() - began < 25
    with a_server(tmp_path) as again:
        api_of(again).wait_for(job["job_id"], "SUCCEEDED")
        assert outcomes(api_of(again), job["job_id"]) == ["lost", "succeeded"]


def test_runs_of_a_killed_server_start_again_at_once_and_all_accepted_jobs_run(
    tmp_path: Path, listener: Listener
) -> None:
    server = start_server(tmp_path)
    api = api_of(server)
    running = api.submit(callback_url=f"{listener.url}/killed?hang=20", timeout_seconds=60)
    soon = [api.submit(callback_url=f"{listener.url}/soon/{n}", delay=2) for n in range(5)]  # after the kill
    waiting = api.submit(callback_url=f"{listener.url}/waiting", dependencies=[soon[0]["job_id"]])
    listener.wait_for("/killed")
    server.kill()
    with a_server(tmp_path) as again:
        api = api_of(again)
        for job in (*soon, waiting, running):
            api.wait_for(job["job_id"], "SUCCEEDED")
        assert outcomes(api, running["job_id"]) == ["lost", "succeeded"]
        assert all(len(listener.at_path(f"/soon/{n}")) == 1 for n in range(5))


def test_logs_are_json_lines_without_the_token_of_a_request_or_a_payload(tmp_path: Path, listener: Listener) -> None:
    with a_server(tmp_path, "--json") as server:
        api = api_of(server)
        secret = {"secret": "a-payload"}
        job = api.submit(callback_url=f"{listener.url}/logged?fail=9", payload=secret, retry={"max_retries": 0})
        api.wait_for(job["job_id"], "FAILED")
        server.stop()
        lines = [json.loads(line) for line in server.said().splitlines()]
    [ready] = [line for line in lines if line.get("action") == "ready"]
    assert (ready["api_url"], ready["token"], ready["pid"]) == (server.url, server.token, server.process.pid)
    assert ready["console"] == f"{server.url}/console"
    others = [line for line in lines if line is not ready]
    assert {"recovered", "executed"} <= {line["message"] for line in others}
    assert all({"time", "level", "message"} <= set(line) for line in others)
    [executed] = [line for line in others if line["message"] == "executed"]
    assert (executed["run"], executed["attempt"]) == (job["job_id"], 1)
    assert "a-payload" not in server.said()
    assert server.token not in json.dumps(others)
