"""Run commands on a real API in this process, or on a transport that answers as a test says."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from onthedot.cli.common import documents
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
    # No test waits for the pause before a retry.
    monkeypatch.setattr(documents, "Client", partial(Client, sleep=lambda _: None))


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with a_passing_world() as world, serving(world) as server:
        yield server


@pytest.fixture
def api(server: ApiServer) -> Api:
    return Api(server.world)


@pytest.fixture
def onthedot(request: pytest.FixtureRequest) -> Command:
    """Run a command, on the server if the test has one."""
    has_server = "server" in request.fixturenames or "api" in request.fixturenames
    url = request.getfixturevalue("server").url if has_server else "http://api.test"

    def run(*arguments: str, **options: str) -> Result:
        environment = {"COLUMNS": "80", "ONTHEDOT_URL": url, "ONTHEDOT_TOKEN": TOKEN}
        result = CliRunner(env=environment).invoke(main, arguments, prog_name="onthedot", input=options.get("typed"))
        assert result.exception is None or isinstance(result.exception, SystemExit), "no traceback"
        return result

    return run


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """Answer the calls of commands with these outcomes, one after the other."""

    def answer(*outcomes: Reply | NoAnswer) -> ScriptedTransport:
        transport = ScriptedTransport(list(outcomes))
        monkeypatch.setattr(documents, "HttpTransport", lambda _: transport)
        return transport

    return answer


def failed_jobs(api: Api, count: int) -> list[str]:
    """Return jobs that failed for good, one each second, the latest first."""
    worker = a_worker(api, resources={"slots": 10})
    ids = []
    for number in range(count):
        ids.append(api.job(target=SHELL, retry={"max_retries": 0}))
        worker.complete(worker.take(), "FAILED", error=f"boom {number}")
        api.world.clock.advance(1)
    return ids[::-1]
