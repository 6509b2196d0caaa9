"""`onthedot limits` by AWS credentials, on the table of the handler tests."""

import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result

from onthedot.cli.main import main
from tests.handlers.conftest import TABLE, deploy


def by_table(*arguments: str, table: str = TABLE) -> Result:
    return CliRunner().invoke(main, ["limits", *arguments, "--table", table, "--region", "us-east-1"])


def by_stage(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["limits", *arguments, "--stage", "test"])


@pytest.mark.parametrize("limits", [by_table, by_stage])
@pytest.mark.usefixtures("stage")
def test_limits_are_set_shown_and_lifted(limits: Callable[..., Result]) -> None:
    made = limits("set", "acme", "--in-flight", "5", "--weight", "3", "--json")
    assert made.exit_code == 0, made.stderr
    document = json.loads(made.stdout)
    assert (document["tenant"], document["in_flight"], document["weight"], document["waiting"]) == ("acme", 5, 3, 0)
    assert json.loads(limits("list", "--json").stdout) == document
    assert json.loads(limits("show", "acme", "--json").stdout) == document
    assert limits("show").stdout.splitlines()[1].startswith("acme\t0 of 5\t")
    assert limits("clear", "acme").stdout == "Tenant acme has no limits.\n"
    assert json.loads(limits("clear", "acme", "--json").stdout) == {"deleted": False}
    assert (limits("list").exit_code, limits("list").stdout) == (0, "")


@pytest.mark.usefixtures("cloud")
def test_a_limit_that_makes_no_sense_is_refused_by_its_option() -> None:
    for option, value in (("--in-flight", "-1"), ("--per-second", "x"), ("--weight", "many")):
        result = by_table("set", "acme", option, value)
        assert result.exit_code == 2
        assert option in result.stderr
    assert (
        by_table("set", "acme", "--burst", "2").stderr
        == "Error: burst: works only with per_second; add it, or remove burst\n"
    )
    assert by_table("list", "--json").stdout == ""


@pytest.mark.usefixtures("cloud")
@pytest.mark.parametrize("arguments", [["list"], ["set", "acme", "--in-flight", "1"], ["clear", "acme"]])
def test_a_table_that_is_not_there_is_an_error_in_a_sentence(arguments: list[str]) -> None:
    result = by_table(*arguments, table="nowhere")
    assert result.exit_code == 1
    assert "ResourceNotFound" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.usefixtures("cloud")
def test_a_stage_that_is_not_there_is_an_error_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    deploy(monkeypatch, Other="x")
    assert "has no output WorkerEnvironment" in by_stage("show").stderr
    result = CliRunner().invoke(main, ["limits", "show", "--stage", "none"])
    assert (result.exit_code, "no onthedot-none-workers" in result.stderr) == (1, True)
