"""`onthedot limits` and `gates` over REST. `tests/handlers/test_limits_command.py` has limits by AWS credentials."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from onthedot.client.requests import PAGE
from onthedot.gates.limits import GateLimits, TenantLimits
from tests.unit.api.gates.kit import hold, park
from tests.unit.api.kit import Api
from tests.unit.cli.conftest import Command, invoke, json_lines, local_stack, rows
from tests.unit.worker.world import TOKEN, ApiServer


@pytest.fixture
def limits(server: ApiServer, onthedot: Command) -> Command:
    return partial(onthedot, "limits")


@pytest.fixture
def gates(server: ApiServer, onthedot: Command) -> Command:
    return partial(onthedot, "gates")


def tenant(server: ApiServer, name: str = "acme") -> TenantLimits:
    found = server.world.engine.limits.find(name)
    assert found is not None
    return found


def gate(server: ApiServer, name: str = "stripe") -> tuple[Any, ...] | None:
    found = server.world.engine.gates.find("acme", name)
    return None if found is None else (found.in_flight, found.per_second, found.burst, found.paused)


def test_limits_are_set_shown_and_lifted_with_the_token_of_the_local_stack(server: ApiServer, tmp_path: Path) -> None:
    local_stack(tmp_path, api_url=server.url, token=TOKEN)
    result = invoke("limits", "set", "acme", "--in-flight", "10", "--per-second", "5", "--weight", "2")
    assert result.exit_code == 0
    assert result.stdout == "Tenant acme: 10 at a time, 5 a second, burst 1, weight 2.\n"
    found = tenant(server)
    assert (found.in_flight, found.per_second, found.weight, found.paused) == (10, 5.0, 2, False)
    header, row = rows(invoke("limits", "show"))
    assert header == ["TENANT", "IN FLIGHT", "PER SECOND", "WAITING", "OLDEST", "STATE", "WEIGHT"]
    assert row == ["acme", "0 of 10", "5", "0", "-", "open", "2"]
    for _ in range(2):
        assert invoke("limits", "clear", "acme").exit_code == 0
    assert server.world.engine.limits.find("acme") is None
    assert (invoke("limits", "show").stdout, invoke("limits", "show").exit_code) == ("", 0)


def test_zero_stops_a_tenant_and_a_set_without_options_lets_it_not_go_on(server: ApiServer, limits: Command) -> None:
    assert "stopped" in limits("set", "acme", "--in-flight", "0").stdout
    assert limits("set", "acme").exit_code == 2
    assert tenant(server).is_stopped


def test_limits_as_json(limits: Command) -> None:
    made = json.loads(limits("set", "acme", "--in-flight", "3", "--paused", "--json").stdout)
    assert (made["tenant"], made["in_flight"], made["paused"], made["waiting"]) == ("acme", 3, True, 0)
    limits("set", "other", "--weight", "5")
    assert [one["tenant"] for one in json_lines(limits("show", "--json"))] == ["acme", "other"]
    assert json_lines(limits("show", "acme", "--json")) == [made]
    assert [one["weight"] for one in json_lines(limits("list", "--json"))] == [1, 5]
    assert json_lines(limits("clear", "acme", "--json")) == [{"deleted": True}]
    assert json_lines(limits("clear", "acme", "--json")) == [{"deleted": False}]
    assert limits("show", "acme").exit_code == 4


def test_a_tenant_with_other_characters_is_the_same_tenant(server: ApiServer, limits: Command) -> None:
    limits("set", "a/b ü%20", "--in-flight", "1")
    assert tenant(server, "a/b ü%20").in_flight == 1
    assert "is not the name of a tenant" in limits("set", "a" * 101, "--in-flight", "1").stderr


def test_a_gate_is_set_and_replaced(server: ApiServer, gates: Command) -> None:
    result = gates("set", "stripe", "--in-flight", "5", "--per-second", "2.5", "--burst", "10", "--paused")
    assert (result.exit_code, gate(server)) == (0, (5, 2.5, 10, True))
    assert result.stdout == "Gate stripe: 5 at a time, 2.5 a second, burst 10, paused.\n"
    assert "onthedot gates show stripe" in result.stderr
    assert gates("set", "stripe", "--per-second", "0").stdout.endswith("stopped.\n")
    assert gate(server) == (None, 0.0, None, False)
    assert gates("set", "stripe", "--no-limits").exit_code == 0
    assert gate(server) == (None, None, None, False)
    assert gates("delete", "stripe").exit_code == 0
    assert gate(server) is None


def test_pausing_and_resuming_keeps_the_limits(server: ApiServer, gates: Command) -> None:
    gates("set", "stripe", "--in-flight", "5", "--per-second", "2.5", "--burst", "3")
    assert gates("pause", "stripe").stdout.endswith("burst 3, paused.\n")
    assert gate(server) == (5, 2.5, 3, True)
    assert gates("resume", "stripe").exit_code == 0
    assert gate(server) == (5, 2.5, 3, False)


def test_a_gate_as_json(api: Api, gates: Command) -> None:
    made = json.loads(gates("set", "stripe", "--in-flight", "5", "--json").stdout)
    assert (made["name"], made["in_flight"]) == ("stripe", 5)
    assert json.loads(gates("show", "stripe", "--json").stdout) == api.get("/v1/gates/stripe").body
    assert json.loads(gates("pause", "stripe", "--json").stdout)["paused"] is True
    assert json.loads(gates("resume", "stripe", "--json").stdout)["paused"] is False
    assert json.loads(gates("delete", "stripe", "--json").stdout) == {"deleted": True}


def test_a_gate_is_shown_with_its_use_holders_and_keys(server: ApiServer, api: Api, gates: Command) -> None:
    gates("set", "customer", "--in-flight", "1")
    park(server.world, api.job(gates=["customer"]), "customer")
    park(server.world, api.job(gates=["customer:4/2"]), "customer:4/2")
    hold(server.world, "customer", run_id="job_holder")
    lines = rows(gates("show", "customer"))
    assert lines[0] == ["GATE", "IN FLIGHT", "PER SECOND", "WAITING", "OLDEST", "STATE", "SET", "BY"]
    assert (lines[1][:4], lines[1][5], lines[1][7]) == (["customer", "1 of 1", "-", "1"], "open", "a worker")
    assert (lines[2], lines[3][0], lines[3][2]) == (["HOLDER", "SINCE", "WORKER"], "job_holder", "-")
    assert lines[4:] == [["WAITING KEYS (1)"], ["4/2"]]
    assert "customer:4/2" in gates("show", "customer:4/2").stdout


def test_all_gates_are_listed_page_by_page(server: ApiServer, gates: Command) -> None:
    assert "onthedot gates set" in gates("list").stderr
    for number in range(PAGE + 5):
        server.world.engine.gates.put("acme", f"g{number:03}", GateLimits(in_flight=number))
    assert [row[0] for row in rows(gates("list"))] == ["GATE", *(f"g{number:03}" for number in range(PAGE + 5))]
    assert [one["in_flight"] for one in json_lines(gates("list", "--json"))] == list(range(PAGE + 5))


def test_a_gate_that_is_not_there_ends_with_code_4(gates: Command) -> None:
    for command in ("show", "pause", "resume", "delete"):
        result = gates(command, "\x1b[31mred")
        assert (result.exit_code, result.stdout, "\x1b" in result.stderr) == (4, "", False)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["gates", "set", "stripe"], "--no-limits"),
        (["gates", "set", "stripe", "--burst", "5"], "--per-second"),
        (["gates", "set", "stripe", "--in-flight", "0", "--no-limits"], "--in-flight"),
        (["gates", "set", "stripe", "--paused", "--no-limits"], "--paused"),
        (["gates", "set", "stripe", "--in-flight", "1001"], "--in-flight"),
        (["gates", "set", "stripe", "--in-flight", "x"], "--in-flight"),
        (["gates", "set", "stripe", "--per-second", "-1"], "--per-second"),
        (["gates", "set", "stripe", "--per-second", "1", "--burst", "0"], "--burst"),
        (["gates", "set"], "NAME"),
        (["limits", "set", "acme", "--weight", "0"], "--weight"),
        (["limits", "set", "acme", "--per-second", "201"], "--per-second"),
        (["limits", "show", "--url", "http://a", "--stage", "prod"], "--stage"),
        (["limits", "show", "--stage", "prod", "--table", "jobs"], "--table"),
    ],
)
def test_a_wrong_option_is_refused_by_its_name(
    server: ApiServer, onthedot: Command, arguments: list[str], named: str
) -> None:
    result = onthedot(*arguments)
    assert (result.exit_code, named in result.stderr, server.calls) == (2, True, [])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["gates", "set", "Stripe", "--in-flight", "1"], "name: "),
        (["gates", "set", "customer:42", "--in-flight", "1"], "customer"),
        (["gates", "set", "stripe", "--in-flight", "1", "--burst", "2"], "burst: "),
        (["gates", "set", "stripe", "--per-second", "0.00001"], "per_second: "),
        (["limits", "set", "acme", "--burst", "2"], "burst: "),
    ],
)
def test_a_refusal_of_the_api_names_the_field(
    server: ApiServer, onthedot: Command, arguments: list[str], named: str
) -> None:
    result = onthedot(*arguments)
    assert (result.exit_code, result.stdout, named in result.stderr) == (3, "", True)


def test_a_role_that_may_not_is_told_which_may(server: ApiServer, onthedot: Command) -> None:
    server.role = "viewer"
    assert "use an operator's or admin's as" in onthedot("gates", "set", "stripe", "--in-flight", "1").stderr
    server.role = "operator"
    for arguments in (["show"], ["set", "acme", "--in-flight", "1"], ["clear", "acme"]):
        result = onthedot("limits", *arguments)
        assert (result.exit_code, "use an admin's as ONTHEDOT_TOKEN" in result.stderr) == (3, True)


def test_an_api_that_fails_ends_with_code_5(server: ApiServer, gates: Command) -> None:
    server.answers = {"gates": [503] * 4}
    assert gates("list").exit_code == 5
