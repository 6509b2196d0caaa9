"""`onthedot explain` prints the reasons of a real API, and ends in a sentence otherwise."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from onthedot.api.core.http import Response
from onthedot.cli.main import main
from onthedot.domain.gates.limits import GateLimits
from tests.unit.api.gates.kit import park
from tests.unit.api.kit import Api
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
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"PENDING\n  {why}; no run waits before it\n", "a line is not broken on a narrow terminal"


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
    assert result.exit_code == 1
    assert "is the URL right?" in result.stderr


def test_reasons_cannot_control_the_terminal(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    bad = {"status": "PENDING", "reasons": [{"code": "x", "message": "\x1b[31mred"}]}
    monkeypatch.setattr(ApiServer, "answer", lambda *_: Response(200, bad))
    assert "\x1b" not in explain(server, "job_a").stdout
