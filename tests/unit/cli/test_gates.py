"""`onthedot gates` sets, shows, pauses, resumes and deletes gates of a real API, and ends in a sentence otherwise."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from onthedot.cli.main import main
from onthedot.client.requests import PAGE
from onthedot.domain.gates.limits import GateLimits
from tests.unit.api.gates.kit import hold, park
from tests.unit.api.kit import Api
from tests.unit.worker.world import TOKEN, ApiServer, a_passing_world, serving


@pytest.fixture(autouse=True)
def _a_bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("ONTHEDOT_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("onthedot.use_cases.gates.change_limits.IN_FORCE_MS", 1)


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with a_passing_world() as world, serving(world) as server:
        yield server


def gates(server: ApiServer, *arguments: str) -> Result:
    environment = {"COLUMNS": "100", "ONTHEDOT_URL": server.url, "ONTHEDOT_TOKEN": TOKEN}
    result = CliRunner(env=environment).invoke(main, ["gates", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), "no traceback"
    return result


def stored(server: ApiServer, name: str) -> tuple[Any, ...] | None:
    limits = server.world.engine.gates.find("acme", name)
    return None if limits is None else (limits.in_flight, limits.per_second, limits.burst, limits.paused)


def test_a_gate_is_set_and_the_next_command_named(server: ApiServer) -> None:
    result = gates(server, "set", "stripe", "--in-flight", "5", "--per-second", "2.5", "--burst", "10")
    assert result.exit_code == 0
    assert result.stdout == "Gate stripe: 5 at a time, 2.5 a second, burst 10.\n"
    assert "onthedot gates show stripe" in result.stderr
    assert stored(server, "stripe") == (5, 2.5, 10, False)


def test_setting_again_replaces_all_limits(server: ApiServer) -> None:
    gates(server, "set", "stripe", "--in-flight", "5", "--paused")
    assert gates(server, "set", "stripe", "--per-second", "0").stdout == "Gate stripe: 0 a second, burst 1, stopped.\n"
    assert stored(server, "stripe") == (None, 0.0, None, False)


def test_all_limits_are_lifted_and_the_gate_stays(server: ApiServer) -> None:
    gates(server, "set", "stripe", "--in-flight", "5")
    assert gates(server, "set", "stripe", "--no-limits").stdout == "Gate stripe: no limit.\n"
    assert stored(server, "stripe") == (None, None, None, False)


def test_pausing_and_resuming_keeps_the_limits(server: ApiServer) -> None:
    gates(server, "set", "stripe", "--in-flight", "5", "--per-second", "2.5", "--burst", "3")
    assert gates(server, "pause", "stripe").stdout.endswith("burst 3, paused.\n")
    assert stored(server, "stripe") == (5, 2.5, 3, True)
    assert gates(server, "resume", "stripe").exit_code == 0
    assert stored(server, "stripe") == (5, 2.5, 3, False)


def test_json_is_the_apis_document(server: ApiServer) -> None:
    made = json.loads(gates(server, "set", "stripe", "--in-flight", "5", "--json").stdout)
    assert (made["name"], made["in_flight"]) == ("stripe", 5)
    shown = json.loads(gates(server, "show", "stripe", "--json").stdout)
    assert shown == Api(server.world).get("/v1/gates/stripe").body
    assert json.loads(gates(server, "pause", "stripe", "--json").stdout)["paused"] is True
    assert json.loads(gates(server, "resume", "stripe", "--json").stdout)["paused"] is False
    assert json.loads(gates(server, "delete", "stripe", "--json").stdout) == {"deleted": True}


def test_a_gate_is_shown_with_its_use_holders_and_keys(server: ApiServer) -> None:
    api = Api(server.world)
    gates(server, "set", "customer", "--in-flight", "1")
    park(server.world, api.job(gates=["customer"]), "customer")
    park(server.world, api.job(gates=["customer:4/2"]), "customer:4/2")
    hold(server.world, "customer", run_id="job_holder")
    lines = [line.split("\t") for line in gates(server, "show", "customer").stdout.splitlines()]
    assert lines[0] == ["GATE", "IN FLIGHT", "PER SECOND", "WAITING", "OLDEST", "STATE", "SET", "BY"]
    assert (lines[1][:4], lines[1][5], lines[1][7]) == (["customer", "1 of 1", "-", "1"], "open", "a worker")
    assert (lines[2], lines[3][0], lines[3][2]) == (["HOLDER", "SINCE", "WORKER"], "job_holder", "-")
    assert lines[4:] == [["WAITING KEYS (1)"], ["4/2"]]
    assert "customer:4/2" in gates(server, "show", "customer:4/2").stdout


def test_all_gates_are_listed_page_by_page(server: ApiServer) -> None:
    assert "There is no gate" in gates(server, "list").stderr
    for number in range(PAGE + 5):
        server.world.engine.gates.put("acme", f"g{number:03}", GateLimits(in_flight=number))
    lines = gates(server, "list").stdout.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["GATE", *(f"g{number:03}" for number in range(PAGE + 5))]
    documents = [json.loads(line) for line in gates(server, "list", "--json").stdout.splitlines()]
    assert [one["in_flight"] for one in documents] == list(range(PAGE + 5))


def test_a_gate_is_deleted(server: ApiServer) -> None:
    gates(server, "set", "stripe", "--in-flight", "5")
    assert gates(server, "delete", "stripe").stdout == "Gate stripe is deleted.\n"
    assert stored(server, "stripe") is None


@pytest.mark.parametrize("command", ["show", "pause", "resume", "delete"])
def test_a_gate_that_is_not_there_ends_with_code_4(server: ApiServer, command: str) -> None:
    result = gates(server, command, "none")
    assert (result.exit_code, result.stdout) == (4, "")
    assert result.stderr == f"Error: there is no gate none at {server.url}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["set", "stripe"], "give --in-flight, --per-second, --paused or --no-limits"),
        (["set", "stripe", "--burst", "5"], "give --in-flight, --per-second, --paused or --no-limits"),
        (["set", "stripe", "--in-flight", "0", "--no-limits"], "--no-limits does not go with --in-flight"),
        (["set", "stripe", "--paused", "--no-limits"], "--no-limits does not go with --paused"),
        (["set", "stripe", "--in-flight", "1001"], "--in-flight"),
        (["set", "stripe", "--in-flight", "x"], "--in-flight"),
        (["set", "stripe", "--per-second", "-1"], "--per-second"),
        (["set", "stripe", "--per-second", "1", "--burst", "0"], "--burst"),
        (["set"], "NAME"),
    ],
)
def test_a_wrong_option_is_refused_by_its_name(server: ApiServer, arguments: list[str], message: str) -> None:
    result = gates(server, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert server.calls == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["set", "Stripe", "--in-flight", "1"], "name: is not the name of a gate"),
        (["set", "customer:42", "--in-flight", "1"], "so change customer"),
        (
            ["set", "stripe", "--in-flight", "1", "--burst", "2"],
            "burst: works only with per_second; add it, or remove burst",
        ),
        (["set", "stripe", "--per-second", "0.00001"], "per_second: must be 0, or from"),
    ],
)
def test_a_refusal_of_the_api_is_shown_in_a_sentence(server: ApiServer, arguments: list[str], message: str) -> None:
    result = gates(server, *arguments)
    assert (result.exit_code, result.stdout) == (3, "")
    assert message in result.stderr


def test_a_role_that_may_not_is_named(server: ApiServer) -> None:
    server.role = "viewer"
    result = gates(server, "set", "stripe", "--in-flight", "1")
    assert result.exit_code == 3
    assert "use an operator's or admin's as ONTHEDOT_TOKEN" in result.stderr


def test_an_api_that_fails_is_named(server: ApiServer) -> None:
    server.answers = {"gates": [503] * 4}
    result = gates(server, "list")
    assert (result.exit_code, "as the test wants" in result.stderr) == (5, True)


def test_a_name_cannot_control_the_terminal(server: ApiServer) -> None:
    result = gates(server, "show", "\x1b[31mred")
    assert (result.exit_code, "\x1b" in result.stderr) == (4, False)
