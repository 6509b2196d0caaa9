"""Pull workers over REST on a server: quick to start a run, quick to stop, and back after a restart."""

import time
from pathlib import Path

import pytest

from tests.e2e.control import is_on_time
from tests.e2e.gate_times import instant
from tests.e2e.listener import Listener, listening
from tests.e2e.serve_home import Served
from tests.e2e.worker_process import APP, a_pull_worker, start_worker
from tests.served import ServerProcess, a_server, start_server

ECHO = {"type": "python", "handler": "echo"}


def a_home(server: ServerProcess) -> Served:
    """The home of workers whose jobs call no URL."""
    return Served("serve", server, Listener(port=9))


def test_an_idle_worker_starts_a_run_within_milliseconds(tmp_path: Path) -> None:
    """By intervals, half of them would be later than 100 ms, and some later than a second."""
    with a_server(tmp_path) as server, listening() as listener:
        home = Served("serve", server, listener)
        with a_pull_worker(home, "--app", APP, worker_id="quick") as worker:
            late, controls = [], []
            for number in range(9):  # one by one, so that the worker waits for each
                job = home.api.submit(target=ECHO, payload=number, delay=0.2)
                controls.append(home.control(round(instant(job["next_fire_time"]) * 1000)))
                home.api.wait_for(job["job_id"], "SUCCEEDED")
                late.append(home.api.call("GET", f"/v1/executions/{job['job_id']}")[1]["lateness_ms"])
            assert min(late) >= 0
            assert is_on_time(sorted(late)[4], controls, within=100), (late, [one.late() for one in controls])
            began = time.monotonic()
            assert worker.stop() == 0
            assert time.monotonic() - began < 15, "it did not wait for its lease to end"
        status, view = home.api.call("GET", "/v1/workers/quick")
        assert (status, view["status"]) == (200, "STOPPED")


def test_a_server_stops_although_workers_wait_and_they_come_back_after_the_restart(tmp_path: Path) -> None:
    server = start_server(tmp_path)
    port = server.url.rpartition(":")[2]
    worker = start_worker(a_home(server), "--app", APP, worker_id="loyal")
    time.sleep(0.3)  # its lease waits
    began = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - began < 9, "requests that are under way get ten seconds"
    with a_server(tmp_path, "--port", port) as again:
        api = a_home(again).api
        job = api.submit(target=ECHO, payload=1)
        api.wait_for(job["job_id"], "SUCCEEDED", seconds=60)
        assert api.call("GET", f"/v1/executions/{job['job_id']}")[1]["worker"] == "loyal"
        assert worker.stop() == 0


def test_the_run_of_a_worker_that_was_killed_while_it_waited_goes_to_another_one_at_once(tmp_path: Path) -> None:
    with a_server(tmp_path) as server:
        home = a_home(server)
        victim = start_worker(home, "--app", APP, worker_id="victim")
        time.sleep(0.3)  # its lease waits
        victim.kill()
        with a_pull_worker(home, "--app", APP, worker_id="heir"):
            job = home.api.submit(target=ECHO, payload=1)
            home.api.wait_for(job["job_id"], "SUCCEEDED", seconds=60)
            _, run = home.api.call("GET", f"/v1/executions/{job['job_id']}")
            assert [attempt["worker"] for attempt in run["attempts"]] == ["heir"]


@pytest.mark.slow
def test_an_idle_server_with_a_worker_that_waits_uses_next_to_nothing(tmp_path: Path) -> None:
    """At most 0.2 % of a core over 20 s, with 1,000 stored jobs."""
    with a_server(tmp_path) as server:
        home = a_home(server)
        for _ in range(10):
            jobs = [{"callback_url": "http://127.0.0.1:9/", "delay": 86_400}] * 100
            assert home.api.call("POST", "/v1/jobs/batch", {"jobs": jobs})[0] == 202
        with a_pull_worker(home, "--app", APP, worker_id="idle"):
            time.sleep(3)
            used = []
            for _ in range(3):
                before = cpu_seconds(server.process.pid)
                time.sleep(20)
                used.append(cpu_seconds(server.process.pid) - before)
                if used[-1] <= 0.04:
                    return
    raise AssertionError(used)


def cpu_seconds(pid: int) -> float:
    """Seconds of a core that all threads of a process have used."""
    return sum(int(one.read_text().split()[0]) for one in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9
