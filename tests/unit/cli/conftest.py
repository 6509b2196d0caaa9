"""Run commands on a real API in this process, or on a transport that answers as a test says."""

import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from onthedot.cli import documents
from onthedot.cli.main import main
from onthedot.client import Client
from onthedot.client.transport import NoAnswer, Reply
from tests.unit.api.kit import SHELL, Api, a_worker
from tests.unit.client.scripted import ScriptedTransport
from tests.unit.worker.world import TOKEN, ApiServer, a_passing_world, serving

Command = Callable[..., Result]
Script = Callable[..., ScriptedTransport]


@pytest.fixture(autouse=True)
def _a_bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("ONTHEDOT_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    # No test waits for the pause before a retry, or until a limit is in force everywhere.
    monkeypatch.setattr(documents, "Client", partial(Client, sleep=lambda _: None))
    monkeypatch.setattr("onthedot.gates.manage.IN_FORCE_MS", 1)


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with a_passing_world() as world, serving(world) as server:
        yield server


@pytest.fixture
def api(server: ApiServer) -> Api:
    return Api(server.world)


def invoke(*arguments: str, typed: str | None = None, **environment: str | None) -> Result:
    """Run a command that knows no API but by its arguments and environment. It must not end in a traceback."""
    runner = CliRunner(env={"COLUMNS": "80", **environment})
    result = runner.invoke(main, arguments, prog_name="onthedot", input=typed)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def onthedot(request: pytest.FixtureRequest) -> Command:
    """Run a command, on the server if the test has one."""
    has_server = "server" in request.fixturenames or "api" in request.fixturenames
    url = request.getfixturevalue("server").url if has_server else "http://api.test"
    return partial(invoke, ONTHEDOT_URL=url, ONTHEDOT_TOKEN=TOKEN)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """Answer the calls of commands with these outcomes, one after the other."""

    def answer(*outcomes: Reply | NoAnswer) -> ScriptedTransport:
        transport = ScriptedTransport(list(outcomes))
        monkeypatch.setattr(documents, "HttpTransport", lambda _: transport)
        return transport

    return answer


def json_lines(result: Result) -> list[Any]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def rows(result: Result) -> list[list[str]]:
    """The lines of a table in a pipe, with its header."""
    assert "\x1b" not in result.output
    return [line.split("\t") for line in result.stdout.splitlines()]


def local_stack(folder: Path, **described: Any) -> None:
    """Make the description of a server of this folder."""
    (folder / ".onthedot").mkdir()
    (folder / ".onthedot" / "local.json").write_text(json.dumps(described))


def failed_jobs(api: Api, count: int) -> list[str]:
    """Return jobs that failed for good, one each second, the latest first."""
    worker = a_worker(api, resources={"slots": 10})
    ids = []
    for number in range(count):
        ids.append(api.job(target=SHELL, retry={"max_retries": 0}))
        worker.complete(worker.take(), "FAILED", error=f"boom {number}")
        api.world.clock.advance(1)
    return ids[::-1]
