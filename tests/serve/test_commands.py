"""The commands of the command line against a server, found by its `local.json`."""

import json
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from onthedot.cli.main import main
from tests.e2e.homes import Api
from tests.served import ONTHEDOT, ServerProcess, clean_environment, quiet_port


def invoke(home: Path, *arguments: str) -> Any:
    """Run a command in this process, which knows nothing but the home."""
    environment = {"ONTHEDOT_HOME": str(home), "ONTHEDOT_URL": "", "ONTHEDOT_TOKEN": ""}
    return CliRunner().invoke(main, list(arguments), env=environment)


def told(home: Path, *arguments: str) -> list[Any]:
    done = invoke(home, *arguments, "--json")
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def api_of(server: ServerProcess) -> Api:
    return Api(server.url, server.token, 0.02)


def test_a_job_is_got_explained_and_previewed(shared: ServerProcess) -> None:
    job = api_of(shared).submit(callback_url="http://127.0.0.1:9/", delay=3_600, name="later")
    [found] = told(shared.home, "get", job["job_id"])
    assert found["name"] == "later"
    [explained] = told(shared.home, "explain", job["job_id"])
    assert explained["reasons"]
    assert len(told(shared.home, "preview", "0 9 * * mon-fri")) >= 1
    assert invoke(shared.home, "get", "job_nobody").exit_code == 4


def test_a_listener_shows_the_calls_of_a_server(shared: ServerProcess) -> None:
    port = quiet_port()
    listen = subprocess.Popen(
        [ONTHEDOT, "listen", "--port", str(port)],
        env=clean_environment(shared.home),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        _wait_for_port(port)
        api = api_of(shared)
        job = api.submit(callback_url=f"http://127.0.0.1:{port}/heard", payload={"n": 1})
        api.wait_for(job["job_id"], "SUCCEEDED")
    finally:
        listen.terminate()
        said, _ = listen.communicate(timeout=60)
    assert job["job_id"] in said


def _wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return


def test_an_audit_of_a_server_that_runs(shared: ServerProcess) -> None:
    api = api_of(shared)
    job = api.submit(callback_url="http://127.0.0.1:9/", cron="* * * * *", name="audited")
    [found] = told(shared.home, "audit")
    assert job["job_id"] in [one["job_id"] for one in found["jobs"]]
    assert (found["counts"]["holes"], found["unreadable"], found["ticks"]) == (0, [], None)
    [alone] = told(shared.home, "audit", job["job_id"])
    assert [one["job_id"] for one in alone["jobs"]] == [job["job_id"]]
    refused = invoke(shared.home, "audit", "--take-up")
    assert (refused.exit_code, "--take-up is for a table" in refused.stderr) == (2, True)


@pytest.mark.parametrize("arguments", [("worker", "--direct"), ("tokens", "list", "--stage", "local"), ("shards",)])
def test_a_command_that_needs_aws_says_that_a_server_has_none(
    shared: ServerProcess, arguments: tuple[str, ...]
) -> None:
    done = invoke(shared.home, *arguments)
    assert done.exit_code != 0
    assert "`onthedot serve` runs here, without AWS" in done.stderr, done.output
    assert isinstance(done.exception, SystemExit)


def test_without_a_server_a_command_names_both_ways_to_start_one(tmp_path: Path) -> None:
    ended = {"api_url": f"http://127.0.0.1:{quiet_port()}", "token": "a-token-of-a-server"}
    for place in (None, ended):
        if place:
            (tmp_path / "local.json").write_text(json.dumps(place))
        for arguments in (("get", "job_x"), ("gates", "list")):
            done = invoke(tmp_path, *arguments)
            assert done.exit_code != 0
            assert "`onthedot serve` or `onthedot up`" in done.stderr
