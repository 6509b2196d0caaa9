"""Each command of `docs/on-call.md` answers its question, on the stack and on a server."""

import re
import shlex
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from tests.e2e.homes import Api, Home, until
from tests.served import command

PAGE = Path(__file__).parents[2] / "docs" / "on-call.md"
COMMANDS = re.findall(r"^\$ onthedot (.+)$", PAGE.read_text(), re.MULTILINE)
REFUSED = "http://127.0.0.1:9/"
"""No program listens there."""
ANSWERS = {
    "doctor": r"✓ (last tick|the scheduler is starting)",
    "explain report": r"ACTIVE",
    "list --status failed --since 12h": r"(?m)^report\t09:00 on weekdays.*\tfailed .*ACTIVE\tjob_",
    "redrive --since 12h --yes": r"^[1-9]\d* runs? starts? again",
    "queues": r"^POOL\tPRIORITY\tWAITING\tOLDEST(.|\n)*\ndefault\t",
    "forecast --minutes 60": r"^MINUTE\tRUNS(.|\n)*\n20\d\d-\d\d-\d\dT\S+\t\d+",
    "executions --status running --by name": r"^COUNT\tNAME(.|\n)*\n1\timport\t1\t",
    "limits list": r"(?m)^noisy\t",
    "limits set noisy --in-flight 0": r"^Tenant noisy: 0 at a time, stopped",
}
"""The beginning of the answer that a pipe gets."""


@pytest.fixture(scope="module")
def person(home: Home) -> Api:
    """The API of a tenant with a recurring job and a one-off job that failed, and of another tenant with limits.

    The commands run again all that failed, so the jobs of other tests must not be among them.
    """
    api = home.api_of(f"on-call-{uuid.uuid4()}")
    api.submit(callback_url=REFUSED, name="cleanup", every=900)
    report = api.submit(callback_url=REFUSED, name="report", cron="0 9 * * mon-fri", retry={"max_retries": 0})["job_id"]
    assert api.call("POST", f"/v1/jobs/{report}/run")[0] == 202
    once = api.submit(callback_url=REFUSED, name="remind-17", retry={"max_retries": 0})["job_id"]
    api.wait_for(once, "FAILED")
    until(lambda: api.call("GET", f"/v1/jobs/{report}/executions")[1]["executions"][0]["status"] == "FAILED")
    assert api.call("PUT", "/v1/limits/noisy", {"in_flight": 50})[0] == 200
    return api


@contextmanager
def a_running_job(api: Api) -> Iterator[None]:
    """Let a pull worker over REST run a job in the block. Its capability keeps other workers away."""
    resources = {"concurrency": 1, "cpu": 1, "memory_mb": 512}
    offer = {"pool": "pull", "capabilities": ["shell", "on-call"], "resources": resources}
    worker = api.call("POST", "/v1/workers/register", offer)[1]["worker_id"]
    job = api.submit(
        target={"type": "shell", "argv": ["true"]},
        name="import",
        requirements={"capabilities": ["on-call"]},
        timeout_seconds=900,
    )["job_id"]
    runs = until(lambda: api.call("POST", f"/v1/workers/{worker}/lease", {})[1]["runs"])
    yield
    said = {"attempt": 1, "receipt": runs[0]["receipt"]}
    assert api.call("POST", f"/v1/executions/{job}/complete", {"status": "SUCCEEDED", **said})[0] == 200
    api.call("POST", f"/v1/workers/{worker}/heartbeat", {"running": [], "stopped": True})


def run(home: Home, api: Api, arguments: str) -> "subprocess.CompletedProcess[str]":
    return command(home.home, *shlex.split(arguments), "--url", api.url, "--token", api.token or "")


def test_the_page_has_a_command_for_each_question() -> None:
    assert sorted(COMMANDS) == sorted(ANSWERS)


@pytest.mark.parametrize("arguments", COMMANDS)
def test_the_command_answers_its_question(home: Home, person: Api, arguments: str) -> None:
    with a_running_job(person) if "--status running" in arguments else nullcontext():
        done = run(home, person, arguments)
    # Other tests of this home leave runs for workers that are gone, which the doctor finds.
    assert done.returncode in ((0, 1) if arguments == "doctor" else (0,)), done.stdout + done.stderr
    assert re.search(ANSWERS[arguments], done.stdout), done.stdout + done.stderr
