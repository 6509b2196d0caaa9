"""Pull workers with only a URL and a token: killed, stopped, cancelled, murdered by their jobs."""

import os
import time
from pathlib import Path

import pytest

from tests.e2e.control import is_on_time
from tests.e2e.gate_times import instant
from tests.e2e.homes import Api, Home, until
from tests.e2e.worker_process import APP, a_pull_worker, only, start_worker

LEASE_SECONDS, RECOVERY_SECONDS = 30, 15
BEAT_MS = 10_000
"""The time between two heartbeats."""
SLEEP = ["sleep", f"8.{os.getpid()}"]
"""Another process may run these tests on another home at the same time, and has programs of its own."""
SHELL = {"type": "shell", "argv": SLEEP}


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
        until(lambda: len(api.execution(job["job_id"])["attempts"]) == 2, LEASE_SECONDS + RECOVERY_SECONDS + 10)
        run = api.execution(job["job_id"])
        assert instant(run["attempts"][-1]["started_at"]) <= killed_at + LEASE_SECONDS + RECOVERY_SECONDS
        assert run["attempts"][0]["outcome"] == "lost"
        until(lambda: len(sleepers() - before) == 1, 12)  # the killed worker's program died with it
        path = f"/v1/executions/{job['job_id']}/complete"
        status, refusal = api.call("POST", path, {"status": "SUCCEEDED", "result": "late", "attempt": 1})
        assert (status, refusal["error"]["code"]) == (409, "stale_attempt")
        api.wait_for(job["job_id"], "SUCCEEDED", seconds=60)
    run = api.execution(job["job_id"])
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
    run = api.execution(long["job_id"])
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
        ended = round(instant(api.execution(job["job_id"])["finished_at"]) * 1000)
        late = max(ended - beat, 0)
        assert is_on_time(late, [control], within=4_000), (late, control.late())
        assert sleepers(program) == set()


def test_a_job_that_kills_its_process_ends_in_the_dead_letters_and_the_worker_goes_on(home: Home, api: Api) -> None:
    with a_pull_worker(home, "--app", APP, worker_id="survivor") as worker:
        job = api.submit(target={"type": "python", "handler": "die"}, name="poison", **only("survivor"))
        api.wait_for(job["job_id"], "FAILED", seconds=60)
        run = api.execution(job["job_id"])
        assert [attempt["outcome"] for attempt in run["attempts"]] == ["lost"] * 5
        assert "5 attempts were lost" in run["reason"]
        assert job["job_id"] in {letter["execution_id"] for letter in api.pages("/v1/dead-letters", "dead_letters")}
        other = api.submit(target={"type": "python", "handler": "echo"}, payload={"n": 1}, **only("survivor"))
        api.wait_for(other["job_id"], "SUCCEEDED")
        assert worker.is_alive()
