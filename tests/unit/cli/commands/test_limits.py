"""`onthedot limits` and `gates` over REST. `tests/handlers/test_limits_command.py` has limits by AWS credentials."""

from functools import partial
from typing import Any

import pytest

from onthedot.client.requests import PAGE
from onthedot.gates.limits import GateLimits, TenantLimits
from tests.unit.api.gates.kit import hold, park
from tests.unit.api.kit import Api
from tests.unit.cli.conftest import Command, json_lines, rows
from tests.unit.worker.world import ApiServer


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


def test_zero_stops_a_tenant_and_a_set_without_options_lets_it_not_go_on(server: ApiServer, limits: Command) -> None:
    assert "stopped" in limits("set", "acme", "--in-flight", "0").stdout
    assert limits("set", "acme").exit_code == 2
    assert tenant(server).is_stopped


def test_a_tenant_with_other_characters_is_the_same_tenant(server: ApiServer, limits: Command) -> None:
    limits("set", "a/b ü%20", "--in-flight", "1")
    assert tenant(server, "a/b ü%20").in_flight == 1
    assert "is not the name of a tenant" in limits("set", "a" * 101, "--in-flight", "1").stderr


def test_pausing_and_resuming_keeps_the_limits(server: ApiServer, gates: Command) -> None:
    gates("set", "stripe", "--in-flight", "5", "--per-second", "2.5", "--burst", "3")
    assert gates("pause", "stripe").stdout.endswith("burst 3, paused.\n")
    assert gate(server) == (5, 2.5, 3, True)
    assert gates("resume", "stripe").exit_code == 0
    assert gate(server) == (5, 2.5, 3, False)


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


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["gates", "set", "stripe", "--burst", "5"], "--per-second"),
        (["gates", "set", "stripe", "--in-flight", "0", "--no-limits"], "--in-flight"),
        (["gates", "set", "stripe", "--in-flight", "1001"], "--in-flight"),
        (["gates", "set", ""], "NAME"),
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
