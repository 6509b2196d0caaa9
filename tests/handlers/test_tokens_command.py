"""`onthedot tokens --stage` by AWS credentials, on the table of the handler tests."""

import json

import pytest
from click.testing import CliRunner, Result

from onthedot.access.ports import Principal
from onthedot.access.token_store import TokenStore
from onthedot.access.tokens import authenticate
from onthedot.cli.main import main
from onthedot.core.clock import SystemClock
from tests.handlers.conftest import TABLE, Cloud, deploy

ADA = ["--tenant", "acme", "--role", "admin", "--name", "ada"]


@pytest.fixture
def tokens(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> TokenStore:
    deploy(monkeypatch, "data", TableName=TABLE)
    return TokenStore(cloud.stored, SystemClock())


def by_stage(*arguments: str, stage: str = "test") -> Result:
    return CliRunner().invoke(main, ["tokens", *arguments, "--stage", stage])


def test_a_token_is_made_listed_and_revoked(tokens: TokenStore) -> None:
    result = by_stage("create", *ADA, "--expires", "2h", "--json")
    assert result.exit_code == 0, result.stderr
    made = json.loads(result.stdout)
    assert set(made) == {"token", "id", "tenant", "role", "name", "expires_at"}
    assert authenticate(tokens, f"Bearer {made['token']}") == Principal("acme", "admin", "ada")
    listed = json.loads(by_stage("list", "--json").stdout)
    assert (listed["id"], listed["expires_at"]) == (made["id"], made["expires_at"])
    assert by_stage("list", "--tenant", "other", "--json").stdout == ""
    assert json.loads(by_stage("revoke", made["id"], "--json").stdout) == {"deleted": True}
    assert authenticate(tokens, f"Bearer {made['token']}") is None
    again = by_stage("revoke", made["id"])
    assert (again.exit_code, f"there is no token with this id in {TABLE}" in again.stderr) == (4, True)


def test_a_reserved_tenant_is_refused_here_too(tokens: TokenStore) -> None:
    result = by_stage("create", "--tenant", "onthedot", "--role", "admin", "--name", "x")
    assert (result.exit_code, "tenant: onthedot is reserved" in result.stderr) == (1, True)
    assert tokens.page(10).items == []


@pytest.mark.usefixtures("tokens")
@pytest.mark.parametrize("arguments", [["list"], ["create", *ADA], ["revoke", "tok_x"]])
def test_a_stage_that_is_not_there_is_an_error_in_a_sentence(arguments: list[str]) -> None:
    result = by_stage(*arguments, stage="none")
    assert result.exit_code == 1
    assert "no onthedot-none-data" in result.stderr
    assert "Traceback" not in result.stderr
