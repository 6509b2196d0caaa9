"""`onthedot explain` tells the reasons and the story of a job of a real API."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from onthedot.api.http import Response
from onthedot.gates.limits import GateLimits
from tests.unit.api.gates.kit import park
from tests.unit.api.kit import SHELL, Api, a_worker
from tests.unit.cli.conftest import Command
from tests.unit.worker.world import ApiServer


def test_a_run_that_waits_at_a_paused_gate_says_which_command_resumes_it(
    server: ApiServer, api: Api, onthedot: Command
) -> None:
    server.world.gates.put("acme", "stripe", GateLimits(paused=True))
    job = api.job(gates=["stripe"])
    park(server.world, job, "stripe")
    result = onthedot("explain", job, COLUMNS="40")
    assert (result.exit_code, result.stderr.strip()) == (0, f"onthedot gates list    onthedot executions {job}")
    first, *story, last = result.stdout.splitlines()
    assert first.startswith(f"{job} is PENDING: gate stripe is paused")
    assert "`onthedot gates resume stripe`" in first, "a line is not broken on a narrow terminal"
    assert len(story) == 3, "a reason is told once"
    assert "gate stripe" in last


def test_a_paused_job_says_what_a_resume_would_do_and_how(api: Api, onthedot: Command) -> None:
    job = api.job(every=3600, name="report")
    api.send("POST", f"/v1/jobs/{job}/pause")
    result = onthedot("explain", job)
    first, paused, what_if = result.stdout.splitlines()
    assert re.match(r"report is PAUSED: .* \S+Z", first)
    assert paused.endswith("Z  paused by a test")
    assert what_if
    assert result.stderr == f"  onthedot resume {job}    onthedot executions {job}\n"


def test_a_run_that_goes_on_shows_its_progress(server: ApiServer, api: Api, onthedot: Command) -> None:
    worker = a_worker(api)
    job = api.job(target=SHELL, name="import", timeout_seconds=900)
    worker.keep(worker.take(), progress={"fraction": 0.42, "text": "rows 420 of 1,000"})
    result = onthedot("explain", "import")
    first, progress, *_ = result.stdout.splitlines()
    assert first.startswith("import is RUNNING: ")
    assert progress.startswith("  42 %, rows 420 of 1,000, running for ")
    assert result.stderr == "  onthedot executions import\n", "the name stands for the id"
    server.answers = {"/v1/executions": [422]}
    unread = onthedot("explain", job)
    assert (unread.exit_code, "is RUNNING" in unread.stdout) == (0, True), "it hides nothing"


def test_times_are_those_of_the_local_clock_on_a_terminal(
    server: ApiServer, onthedot: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onthedot.cli.jobs.get.is_for_people", lambda: True)
    now = datetime.now(UTC).replace(microsecond=5_000)
    later = (now + timedelta(days=2)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    answer = {
        "job_id": "job_a",
        "status": "PENDING",
        "reasons": [{"code": "not_due", "message": f"not due until {later}"}],
        "timeline": [{"time": now.isoformat(), "message": "submitted"}, {"time": later, "message": "due"}],
    }
    monkeypatch.setattr(server, "answer", lambda _: Response(200, answer))
    first, submitted, due = onthedot("explain", "job_a").stdout.splitlines()
    assert later not in first
    assert submitted == f"  {now.astimezone():%H:%M:%S}.005  submitted"
    assert due.endswith(f"{(now + timedelta(days=2)).astimezone():%H:%M:%S}.005  due")


def test_json_is_the_answer_of_the_api(api: Api, onthedot: Command) -> None:
    job = api.job(delay=3600)
    assert json.loads(onthedot("explain", job, "--json").stdout) == api.get(f"/v1/jobs/{job}/explain").body


def test_reasons_cannot_control_the_terminal(
    server: ApiServer, onthedot: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = {"job_id": "job_a", "status": "PENDING", "reasons": [{"code": "x", "message": "\x1b[31mred"}]}
    monkeypatch.setattr(server, "answer", lambda _: Response(200, bad))
    result = onthedot("explain", "job_a")
    assert (result.exit_code, "\x1b" in result.stdout) == (0, False)
