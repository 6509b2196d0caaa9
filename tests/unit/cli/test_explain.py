"""`onthedot explain` prints the reasons of a real API, and ends in a sentence otherwise."""

import json
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from onthedot.api.core.http import Response
from onthedot.cli.main import main
from onthedot.domain.gates.limits import GateLimits
from tests.unit.api.gates.kit import park
from tests.unit.api.kit import SHELL, Api, a_worker
from tests.unit.worker.world import TOKEN, ApiServer, a_passing_world, serving


@pytest.fixture(autouse=True)
def _a_bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("ONTHEDOT_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with a_passing_world() as world, serving(world) as server:
        yield server


def explain(server: ApiServer, *arguments: str) -> Result:
    environment = {"COLUMNS": "40", "ONTHEDOT_URL": server.url, "ONTHEDOT_TOKEN": TOKEN}
    result = CliRunner(env=environment).invoke(main, ["explain", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), "no traceback"
    return result


def test_a_run_that_waits_at_a_paused_gate_says_which_command_resumes_it(server: ApiServer) -> None:
    server.world.gates.put("acme", "stripe", GateLimits(paused=True))
    job = Api(server.world).job(gates=["stripe"])
    park(server.world, job, "stripe")
    result = explain(server, job)
    why = "gate stripe is paused, so nothing starts; change this with `onthedot gates resume stripe`"
    assert (result.exit_code, result.stderr.strip()) == (0, f"onthedot gates show stripe    onthedot executions {job}")
    first, *story, last = result.stdout.splitlines()
    assert first == f"{job} is PENDING: {why}; no run waits before it", "a line is not broken on a narrow terminal"
    assert [line.split("  ")[-1] for line in story] == ["submitted", "due", "began to wait at gate stripe"], (
        "a reason is told once"
    )
    assert last == "If gate stripe were resumed now, it would start at once."


def test_a_paused_job_says_what_a_resume_would_do_and_how(server: ApiServer) -> None:
    job = Api(server.world).job(every=3600, name="report")
    Api(server.world).send("POST", f"/v1/jobs/{job}/pause")
    result = explain(server, job)
    first, paused, what_if = result.stdout.splitlines()
    assert re.fullmatch(r"report is PAUSED: it was paused by a test at \S+Z; resume it", first)
    assert paused.endswith("Z  paused by a test")
    assert what_if.startswith("Resumed now, it would run at ")
    assert result.stderr == f"  onthedot resume {job}    onthedot executions {job}\n"


def test_a_run_that_goes_on_shows_its_progress(server: ApiServer) -> None:
    api = Api(server.world)
    worker = a_worker(api)
    job = api.job(target=SHELL, name="import", timeout_seconds=900)
    worker.keep(worker.take(), progress={"fraction": 0.42, "text": "rows 420 of 1,000"})
    first, progress, *_ = explain(server, "import").stdout.splitlines()
    assert first.startswith("import is RUNNING: attempt 1 runs since ")
    assert progress.startswith("  42 %, rows 420 of 1,000, running for ")
    assert explain(server, "import").stderr == "  onthedot executions import\n", "the name stands for the id"
    assert job not in explain(server, "import").stderr


def test_a_progress_that_cannot_be_read_hides_nothing(server: ApiServer) -> None:
    api = Api(server.world)
    job = api.job(target=SHELL)
    a_worker(api).take()
    server.answers = {"/v1/executions": [422]}
    result = explain(server, job)
    assert (result.exit_code, "is RUNNING" in result.stdout) == (0, True)


def test_times_are_those_of_the_local_clock_on_a_terminal(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onthedot.cli.jobs.explain.is_for_people", lambda: True)
    now = datetime.now(UTC).replace(microsecond=5_000)
    later = (now + timedelta(days=2)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    answer = {
        "job_id": "job_a",
        "status": "PENDING",
        "reasons": [{"code": "not_due", "message": f"not due until {later}"}],
        "timeline": [{"time": now.isoformat(), "message": "submitted"}, {"time": later, "message": "due"}],
    }
    monkeypatch.setattr(ApiServer, "answer", lambda *_: Response(200, answer))
    first, submitted, due = explain(server, "job_a").stdout.splitlines()
    assert later not in first
    assert submitted == f"  {now.astimezone():%H:%M:%S}.005  submitted"
    assert due.endswith(f"{(now + timedelta(days=2)).astimezone():%H:%M:%S}.005  due")


def test_json_is_the_answer_of_the_api(server: ApiServer) -> None:
    job = Api(server.world).job(delay=3600)
    result = explain(server, job, "--json")
    assert json.loads(result.stdout) == Api(server.world).get(f"/v1/jobs/{job}/explain").body


def test_there_is_no_such_job(server: ApiServer) -> None:
    result = explain(server, "job_none")
    assert result.exit_code == 4
    assert "there is no job job_none" in result.stderr


def test_an_answer_that_explains_nothing_ends_in_a_sentence(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ApiServer, "answer", lambda *_: Response(200, {"hello": "world"}))
    result = explain(server, "job_a")
    assert result.exit_code == 5
    assert "is the URL right" in result.stderr


def test_reasons_cannot_control_the_terminal(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = {"status": "PENDING", "reasons": [{"code": "x", "message": "\x1b[31mred"}]}
    monkeypatch.setattr(ApiServer, "answer", lambda *_: Response(200, bad))
    assert "\x1b" not in explain(server, "job_a").stdout
