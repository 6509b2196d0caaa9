"""The options of `onthedot serve`, its places, and the errors that name them."""

import json
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from onthedot.cli.main import main
from tests.e2e.homes import Api
from tests.served import ServerProcess, a_server

Refusal = Callable[..., str]


@pytest.fixture
def refusal(monkeypatch: pytest.MonkeyPatch) -> Refusal:
    """Starts a server in this process, which must not come so far as to serve. Returns what it says."""

    def serve_on(*_: object) -> None:
        raise AssertionError("it serves")

    monkeypatch.setattr("onthedot.serve.http_server.HttpServer.serve_on", serve_on)
    monkeypatch.setattr("onthedot.cli.serve.set_up_logging", lambda **_: None)

    def start(home: Path, *options: str, **environment: str) -> str:
        for name in ("ONTHEDOT_PORT", "ONTHEDOT_SERVE_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        done = CliRunner().invoke(main, ["serve", *options], env={"ONTHEDOT_HOME": str(home), **environment})
        assert isinstance(done.exception, SystemExit), repr(done.exception)
        assert done.exit_code != 0
        return done.stderr

    return start


def test_a_port_that_is_taken_is_named(tmp_path: Path, refusal: Refusal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = refusal(tmp_path, "--port", port)
    assert f"127.0.0.1:{port}" in said
    assert "--port or ONTHEDOT_PORT" in said
    assert not (tmp_path / "local.json").exists()


def test_a_second_server_on_the_same_data_is_refused_and_the_first_one_stays(
    shared: ServerProcess, refusal: Refusal
) -> None:
    said = refusal(shared.home, "--port", "0")
    assert str(shared.data) in said
    place = json.loads((shared.home / "local.json").read_text())
    assert place["pid"] == shared.process.pid
    assert Api(shared.url, shared.token).call("GET", "/v1/tokens")[0] == 200


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--token", "short"), "--token"),
        (("--app", "no.such.module"), "no.such.module"),
        (("--concurrency", "0"), "--concurrency"),
        (("--grace", "-1"), "--grace"),
        (("--host", "no.such.host.invalid"), "no.such.host.invalid"),
        (("--allow", "FILE"), "--allow"),
        (("--data", "FILE"), "FILE"),
    ],
)
def test_a_bad_option_is_named(tmp_path: Path, refusal: Refusal, options: tuple[str, ...], named: str) -> None:
    file, content = tmp_path / "file", '{"functions": 5}' * 100
    file.write_text(content)
    given = [option.replace("FILE", str(file)) for option in options]
    assert named.replace("FILE", str(file)) in refusal(tmp_path / "home", "--port", "0", *given)
    assert file.read_text() == content


def test_a_bad_port_of_the_environment_is_named(tmp_path: Path, refusal: Refusal) -> None:
    assert "ONTHEDOT_PORT" in refusal(tmp_path, ONTHEDOT_PORT="many")


def test_the_description_is_for_this_user_only_and_has_the_fields_of_a_stack(shared: ServerProcess) -> None:
    description = shared.home / "local.json"
    assert stat.S_IMODE(description.stat().st_mode) == 0o600
    assert stat.S_IMODE(shared.data.stat().st_mode) == 0o600
    assert set(shared.place) == {"api_url", "token", "console_url", "pid", "data"}
    assert shared.place["console_url"] == f"{shared.url}/console"
    os.kill(shared.place["pid"], 0)


def test_a_server_listens_on_loopback_only(shared: ServerProcess) -> None:
    assert shared.url.startswith("http://127.0.0.1:")
    port = shared.url.rpartition(":")[2]
    listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if " 0A " in line]
    assert [address for address in listening if address.endswith(f":{int(port):04X}")] == [f"0100007F:{int(port):04X}"]


def test_the_token_of_the_last_start_is_used_again_until_it_is_revoked_or_another_one_is_given(tmp_path: Path) -> None:
    given = "given-by-the-user-1234"
    with a_server(tmp_path) as first:
        assert first.stop() == 0
        with a_server(tmp_path) as second:
            assert second.token == first.token
            second.kill()
        with a_server(tmp_path, ONTHEDOT_SERVE_TOKEN=given) as third:
            assert third.token == given
            for token in (given, first.token):
                assert Api(third.url, token).call("GET", "/v1/tokens")[0] == 200
            wanted = {"tenant": "local", "role": "admin", "name": "another"}
            another = Api(third.url, given).call("POST", "/v1/tokens", wanted)[1]
            api = Api(third.url, another["token"])
            revoked = {one["id"] for one in api.call("GET", "/v1/tokens")[1]["tokens"]} - {another["id"]}
            assert [api.call("DELETE", f"/v1/tokens/{one}")[0] for one in revoked] == [200, 200]
            third.stop()
    with a_server(tmp_path) as fourth:
        assert fourth.token not in (given, first.token)
        assert Api(fourth.url, first.token).call("GET", "/v1/tokens")[0] == 401


def test_a_server_that_others_can_reach_calls_no_private_address_and_starts_quickly(tmp_path: Path) -> None:
    """Other programs take time from this machine, so the server's own CPU time is measured."""
    with a_server(tmp_path, "--host", "0.0.0.0") as server:
        ticks = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        assert sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK") < 2
        api = Api(server.url, server.token, 0.02)
        job = api.submit(callback_url="http://127.0.0.1:9/", retry={"max_retries": 0})
        api.wait_for(job["job_id"], "FAILED")
        _, run = api.call("GET", f"/v1/executions/{job['job_id']}")
        assert run["attempts"][0]["error_class"] == "refused_address"
