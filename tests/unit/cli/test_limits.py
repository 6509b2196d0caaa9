"""`onthedot limits` over REST: with the admin token of the local stack, or at another API."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from onthedot.cli.main import main
from onthedot.domain.gates.limits import TenantLimits
from tests.unit.worker.world import TOKEN, ApiServer, a_passing_world, serving


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with a_passing_world() as world, serving(world) as server:
        yield server


@pytest.fixture(autouse=True)
def _a_local_stack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: ApiServer) -> None:
    for name in [name for name in os.environ if name.startswith("ONTHEDOT_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("onthedot.use_cases.gates.change_limits.IN_FORCE_MS", 1)
    (tmp_path / ".onthedot").mkdir()
    (tmp_path / ".onthedot" / "local.json").write_text(json.dumps({"api_url": server.url, "token": TOKEN}))


def limits(*arguments: str) -> Result:
    result = CliRunner(env={"COLUMNS": "100"}).invoke(main, ["limits", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), "no traceback"
    return result


def stored(server: ApiServer, tenant: str) -> TenantLimits | None:
    return server.world.engine.limits.find(tenant)


def test_limits_are_set_shown_and_lifted_with_the_token_of_the_local_stack(server: ApiServer) -> None:
    result = limits("set", "acme", "--in-flight", "10", "--per-second", "5", "--weight", "2")
    assert result.exit_code == 0
    assert result.stdout == "Tenant acme: 10 at a time, 5 a second, burst 1, weight 2.\n"
    found = stored(server, "acme")
    assert found is not None
    assert (found.in_flight, found.per_second, found.weight, found.paused) == (10, 5.0, 2, False)
    header, row = (line.split("\t") for line in limits("show").stdout.splitlines())
    assert header == ["TENANT", "IN FLIGHT", "PER SECOND", "WAITING", "OLDEST", "STATE", "WEIGHT"]
    assert row == ["acme", "0 of 10", "5", "0", "-", "open", "2"]
    assert limits("clear", "acme").stdout == "Tenant acme has no limits.\n"
    assert stored(server, "acme") is None
    assert limits("clear", "acme").exit_code == 0
    assert limits("show").stderr == "No tenant is limited.\n"


def test_zero_stops_a_tenant(server: ApiServer) -> None:
    assert limits("set", "acme", "--in-flight", "0").stdout == "Tenant acme: 0 at a time, stopped, weight 1.\n"
    found = stored(server, "acme")
    assert found is not None
    assert found.is_stopped


def test_a_set_without_options_lets_no_stopped_tenant_go_on(server: ApiServer) -> None:
    limits("set", "acme", "--in-flight", "0")
    result = limits("set", "acme")
    assert result.exit_code == 2
    assert "give at least one option; `onthedot limits clear` lifts all limits" in result.stderr
    found = stored(server, "acme")
    assert found is not None
    assert found.is_stopped


def test_json_everywhere(server: ApiServer) -> None:
    made = json.loads(limits("set", "acme", "--in-flight", "3", "--paused", "--json").stdout)
    assert (made["tenant"], made["in_flight"], made["paused"], made["waiting"]) == ("acme", 3, True, 0)
    limits("set", "other", "--weight", "5")
    shown = [json.loads(line) for line in limits("show", "--json").stdout.splitlines()]
    assert [one["tenant"] for one in shown] == ["acme", "other"]
    assert json.loads(limits("show", "acme", "--json").stdout) == made
    listed = {one["tenant"]: one for one in map(json.loads, limits("list", "--json").stdout.splitlines())}
    assert listed["other"]["weight"] == 5
    assert json.loads(limits("clear", "acme", "--json").stdout) == {"deleted": True}
    assert json.loads(limits("clear", "acme", "--json").stdout) == {"deleted": False}


def test_a_tenant_without_limits_ends_with_code_4() -> None:
    result = limits("show", "acme")
    assert (result.exit_code, result.stderr) == (4, "Error: tenant acme has no limits\n")


def test_another_token_than_an_admins_is_refused_by_name(server: ApiServer) -> None:
    server.role = "operator"
    for arguments in (["show"], ["set", "acme", "--in-flight", "1"], ["clear", "acme"]):
        result = limits(*arguments)
        assert result.exit_code == 3
        assert "use an admin's as ONTHEDOT_TOKEN" in result.stderr


@pytest.mark.parametrize(
    ("option", "value"),
    [("--in-flight", "-1"), ("--in-flight", "1001"), ("--per-second", "201"), ("--weight", "0"), ("--burst", "x")],
)
def test_a_limit_that_makes_no_sense_is_refused_by_its_option(server: ApiServer, option: str, value: str) -> None:
    result = limits("set", "acme", option, value)
    assert (result.exit_code, option in result.stderr) == (2, True)
    assert server.calls == []


def test_a_refusal_of_the_api_is_shown_in_a_sentence() -> None:
    result = limits("set", "acme", "--burst", "2")
    assert (result.exit_code, result.stderr) == (
        3,
        "Error: burst: works only with per_second; add it, or remove burst\n",
    )
    assert "is not the name of a tenant" in limits("set", "a" * 101, "--in-flight", "1").stderr


@pytest.mark.parametrize("places", [["--url", "http://a", "--stage", "prod"], ["--stage", "prod", "--table", "jobs"]])
def test_only_one_place_may_be_named(places: list[str]) -> None:
    result = limits("show", *places)
    assert (result.exit_code, "give one of --url, --stage and --table" in result.stderr) == (2, True)


def test_a_tenant_with_other_characters_is_the_same_tenant(server: ApiServer) -> None:
    limits("set", "a/b ü%20", "--in-flight", "1")
    assert stored(server, "a/b ü%20") is not None
