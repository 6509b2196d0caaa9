"""`onthedot limits`, on the table of the handler tests."""

import json

from click.testing import CliRunner, Result

from onthedot.cli.main import main
from tests.handlers.conftest import TABLE, Cloud


def limits(*arguments: str, table: str = TABLE) -> Result:
    return CliRunner().invoke(main, ["limits", *arguments, "--table", table, "--region", "us-east-1"])


def test_limits_are_set_shown_and_lifted(cloud: Cloud) -> None:
    assert limits("set", "acme", "--in-flight", "5", "--weight", "3").exit_code == 0
    shown = json.loads(limits("list", "--json").stdout)
    assert shown["tenants"] == {"acme": {"in_flight": 5, "per_second": None, "weight": 3}}
    assert "acme" in limits("list").stdout
    assert limits("clear", "acme").exit_code == 0
    assert "No tenant is limited" in limits("list").stdout


def test_a_limit_that_makes_no_sense_is_refused_by_its_option(cloud: Cloud) -> None:
    for option, value in (("--in-flight", "0"), ("--per-second", "0"), ("--weight", "many")):
        result = limits("set", "acme", option, value)
        assert result.exit_code == 2
        assert option in result.stderr
    assert json.loads(limits("list", "--json").stdout)["tenants"] == {}


def test_a_table_that_is_not_there_is_an_error_in_a_sentence(cloud: Cloud) -> None:
    result = limits("list", table="nowhere")
    assert result.exit_code == 1
    assert "ResourceNotFound" in result.stderr
    assert "Traceback" not in result.stderr
