"""Pull workers with only a URL and a token: killed, stopped, cancelled, murdered by their jobs."""

import os
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.control import is_on_time
from tests.e2e.homes import Api, Home
from tests.e2e.worker_process import APP, a_pull_worker, only, start_worker

LEASE_SECONDS, RECOVERY_SECONDS = 30, 15
BEAT_MS = 10_000
"""The time between two heartbeats."""
SLEEP = ["sleep", f"8.{os.getpid()}"]
"""Another process may run these tests on another home at the same time, and has programs of its own."""
SHELL = {"type": "shell", "argv": SLEEP}


def instant(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def execution(api: Api, run_id: str) -> dict[str, Any]:
    status, view = api.call("GET", f"/v1/executions/{run_id}")
    assert status == 200, view
    return dict(view)


def sleepers(words: list[str] = SLEEP) -> set[int]:
    """Processes of this program."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes() == "".join(f"{word}\0" for word in words).encode():
                found.add(int(process.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


@pytest.mark.usefixtures("quiet_pool")
def test_a_killed_workers_run_starts_again_within_lease_and_fifteen_seconds(home: Home, api: Api) -> None:
    before = sleepers()
    victim = start_worker(home, "--shell", worker_id="victim")
    job = api.submit(target=SHELL, timeout_seconds=120)
    api.wait_for(job["job_id"], "RUNNING")
    time.sleep(3 * home.pace)  # in the middle of it
    killed_at = victim.kill()
    with a_pull_worker(home, "--shell", worker_id="heir"):
        deadline = time.monotonic() + LEASE_SECONDS + RECOVERY_SECONDS + 10
        while (run := execution(api, job["job_id"]))["attempts"][-1]["attempt"] < 2:
            assert time.monotonic() < deadline, run
            time.sleep(0.3)
        assert instant(run["attempts"][-1]["started_at"]) <= killed_at + LEASE_SECONDS + RECOVERY_SECONDS
        assert run["attempts"][0]["outcome"] == "lost"
        deadline = time.monotonic() + 12
        while len(programs := sleepers() - before) != 1:  # the killed worker's program died with it
            assert time.monotonic() < deadline, programs
            time.sleep(0.1)
        path = f"/v1/executions/{job['job_id']}/complete"
        status, refusal = api.call("POST", path, {"status": "SUCCEEDED", "result": "late", "attempt": 1})
        assert (status, refusal["error"]["code"]) == (409, "stale_attempt")
        api.wait_for(job["job_id"], "SUCCEEDED", seconds=60)
    run = execution(api, job["job_id"])
    assert [attempt["outcome"] for attempt in run["attempts"]] == ["lost", "succeeded"]
    assert [attempt["worker"] for attempt in run["attempts"]] == ["victim", "heir"]
    status, view = api.call("GET", "/v1/workers/victim")
    assert (status, view["status"]) == (200, "LOST")


def test_a_stopped_worker_finishes_what_is_short_and_hands_back_what_is_long(home: Home, api: Api) -> None:
    # The short one runs when the worker is stopped, and ends within the grace, also on a busy machine.
    worker = start_worker(home, "--shell", "--capability", "desk", "--grace", "6", worker_id="leaving")
    desk = {"capabilities": ["desk"]}
    short = api.submit(target={"type": "shell", "argv": ["sleep", "2.5"]}, requirements=desk)
    long = api.submit(target={"type": "shell", "argv": ["sleep", "14"]}, timeout_seconds=60, requirements=desk)
    for job in (short, long):
        api.wait_for(job["job_id"], "RUNNING")
    assert worker.stop() == 0
    api.wait_for(short["job_id"], "SUCCEEDED", seconds=15)
    run = execution(api, long["job_id"])
    assert (run["attempts"][-1]["outcome"], run["lost_attempts"]) == ("released", 0)
    status, view = api.call("GET", "/v1/workers/leaving")
    assert (status, view["status"]) == (200, "STOPPED")
    with a_pull_worker(home, "--shell", "--capability", "desk", worker_id="next"):
        api.wait_for(long["job_id"], "SUCCEEDED", seconds=90)


def test_a_cancel_reaches_the_program_by_the_next_heartbeat(home: Home, api: Api) -> None:
    program = ["sleep", f"120.{os.getpid()}"]
    with a_pull_worker(home, "--shell", worker_id="obedient"):
        job = api.submit(target={"type": "shell", "argv": program}, timeout_seconds=180, **only("obedient"))
        api.wait_for(job["job_id"], "RUNNING")
        beat = round(time.time() * 1000) + BEAT_MS
        control = home.control(beat)
        assert api.call("PUT", f"/v1/jobs/{job['job_id']}/cancel")[0] == 200
        api.wait_for(job["job_id"], "CANCELLED")
        ended = round(instant(execution(api, job["job_id"])["finished_at"]) * 1000)
        late = max(ended - beat, 0)
        assert is_on_time(late, [control], within=4_000), (late, control.late())
        assert sleepers(program) == set()


def test_a_job_that_kills_its_process_ends_in_the_dead_letters_and_the_worker_goes_on(home: Home, api: Api) -> None:
    with a_pull_worker(home, "--app", APP, worker_id="survivor") as worker:
        job = api.submit(target={"type": "python", "handler": "die"}, name="poison", **only("survivor"))
        api.wait_for(job["job_id"], "FAILED", seconds=60)
        run = execution(api, job["job_id"])
        assert [attempt["outcome"] for attempt in run["attempts"]] == ["lost"] * 5
        assert "5 attempts were lost" in run["reason"]
        assert job["job_id"] in dead_letters(api)
        other = api.submit(target={"type": "python", "handler": "echo"}, payload={"n": 1}, **only("survivor"))
        api.wait_for(other["job_id"], "SUCCEEDED")
        assert worker.is_alive()


def dead_letters(api: Api) -> dict[str, Any]:
    found: dict[str, Any] = {}
    cursor = ""
    while True:
        status, page = api.call("GET", f"/v1/dead-letters?limit=100{cursor}")
        assert status == 200, page
        found |= {letter["execution_id"]: letter for letter in page["dead_letters"]}
        if page["next_cursor"] is None:
            return found
        cursor = f"&cursor={page['next_cursor']}"


def test_a_dead_letter_is_run_again_and_ends_well(home: Home, api: Api) -> None:
    switch = home.home / "exists"
    switch.unlink(missing_ok=True)
    with a_pull_worker(home, "--shell", worker_id="second-chance"):
        target = {"type": "shell", "argv": ["cat", str(switch)]}
        job = api.submit(target=target, retry={"max_retries": 0}, **only("second-chance"))
        api.wait_for(job["job_id"], "FAILED")
        letter = dead_letters(api)[job["job_id"]]
        assert "No such file" in letter["error"]
        assert letter["attempts"][0]["error_class"] == "exit_1"
        switch.write_text("found")
        status, answer = api.call("POST", "/v1/dead-letters/redrive", {"ids": [job["job_id"], "job_nobody"]})
        assert (status, answer["redriven"]) == (202, 1)
        assert [refused["id"] for refused in answer["refused"]] == ["job_nobody"]
        api.wait_for(job["job_id"], "SUCCEEDED")
        assert job["job_id"] not in dead_letters(api)


def test_a_job_handed_to_one_worker_runs_there(home: Home, api: Api) -> None:
    with (
        a_pull_worker(home, "--app", APP, worker_id="one"),
        a_pull_worker(home, "--app", APP, worker_id="two"),
    ):
        for name in ("one", "two"):
            job = api.submit(target={"type": "python", "handler": "echo"}, delay=3600)
            status, run = api.call("POST", f"/v1/jobs/{job['job_id']}/execute", {"worker_id": name})
            assert (status, run["trigger"]) == (202, "manual"), "beside its own time, which is not come"
            deadline = time.monotonic() + 60
            while (ended := execution(api, run["execution_id"]))["status"] != "SUCCEEDED":
                assert time.monotonic() < deadline, ended
                time.sleep(api.poll_seconds)
            assert ended["worker"] == name
            assert api.call("GET", f"/v1/jobs/{job['job_id']}/status")[1]["status"] == "PENDING"


def test_what_no_pool_can_do_is_refused_by_name(api: Api) -> None:
    target = {"type": "python", "handler": "echo"}
    status, answer = api.call("POST", "/v1/jobs", {"target": target, "requirements": {"capabilities": ["quantum"]}})
    assert status == 422
    assert [problem["field"] for problem in answer["error"]["details"]] == ["requirements.capabilities"]
    assert "quantum" in answer["error"]["details"][0]["message"]


def test_a_live_worker_brings_a_capability_of_its_own(home: Home, api: Api) -> None:
    with a_pull_worker(home, "--shell", "--capability", "printer", worker_id="printing"):
        wanted = {"capabilities": ["printer"]}
        job = api.submit(target={"type": "shell", "argv": ["echo", "page"]}, requirements=wanted)
        api.wait_for(job["job_id"], "SUCCEEDED")
        status, found = api.call("GET", "/v1/workers?status=ACTIVE&capabilities=printer,shell")
        assert status == 200
        assert [worker["worker_id"] for worker in found["workers"]] == ["printing"]


def test_a_workers_use_is_visible_while_it_works(home: Home, api: Api) -> None:
    with a_pull_worker(home, "--app", APP, "--cpu", "2", "--memory-mb", "512", worker_id="visible"):
        requirements = {"cpu": 1.5, "memory_mb": 256, **only("visible")["requirements"]}
        job = api.submit(
            target={"type": "python", "handler": "nap"}, payload=24, requirements=requirements, timeout_seconds=60
        )
        api.wait_for(job["job_id"], "RUNNING")
        deadline = time.monotonic() + 22
        while True:
            _, view = api.call("GET", "/v1/workers/visible")
            if view["running"] == [job["job_id"]]:
                break
            assert time.monotonic() < deadline, view
            time.sleep(0.5)
        assert (view["used"]["cpu"], view["used"]["memory_mb"]) == (1.5, 256)
        api.wait_for(job["job_id"], "SUCCEEDED", seconds=60)
