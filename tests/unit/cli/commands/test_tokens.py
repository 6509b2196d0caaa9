"""`onthedot tokens` over REST. `tests/handlers/test_tokens_command.py` has tokens by AWS credentials."""

import json
from functools import partial

import pytest

from onthedot.access.ports import Principal
from onthedot.access.tokens import authenticate
from onthedot.core.clock import format_instant
from tests.unit.cli.conftest import Command, json_lines, rows
from tests.unit.worker.world import ApiServer

ADA = ["--tenant", "acme", "--role", "operator", "--name", "ada"]
DAY_MS = 86_400_000


@pytest.fixture
def tokens(server: ApiServer, onthedot: Command) -> Command:
    return partial(onthedot, "tokens")


def test_a_token_is_made_listed_and_revoked(server: ApiServer, tokens: Command) -> None:
    before = server.world.clock.now()
    result = tokens("create", *ADA, "--expires", "30d", "--json")
    assert result.exit_code == 0, result.stderr
    made = json.loads(result.stdout)
    assert set(made) == {"token", "id", "tenant", "role", "name", "expires_at"}
    after = server.world.clock.now()
    assert format_instant(before + 30 * DAY_MS) <= made["expires_at"] <= format_instant(after + 30 * DAY_MS)
    assert authenticate(server.world.tokens, f"Bearer {made['token']}") == Principal("acme", "operator", "ada")
    [listed] = json_lines(tokens("list", "--json"))
    assert {name: listed[name] for name in made if name != "token"} == {n: v for n, v in made.items() if n != "token"}
    assert tokens("revoke", made["id"]).exit_code == 0
    assert authenticate(server.world.tokens, f"Bearer {made['token']}") is None
    assert tokens("list").stdout == tokens("list", "--json").stdout == ""


def test_a_script_gets_the_token_alone_on_stdout(server: ApiServer, tokens: Command) -> None:
    result = tokens("create", *ADA)
    assert authenticate(server.world.tokens, f"Bearer {result.stdout.strip()}") is not None
    assert "operator of tenant acme" in result.stderr


def test_a_list_has_no_texts_of_tokens(tokens: Command) -> None:
    made = tokens("create", *ADA).stdout.strip()
    tokens("create", "--tenant", "a\u202eb", "--role", "viewer", "--name", "zoë", "--expires", "1h")
    listing = tokens("list")
    header, *found = rows(listing)
    assert header == ["ID", "TENANT", "ROLE", "NAME", "CREATED", "EXPIRES"]
    assert [(row[1:4], row[5]) for row in found] == [(["acme", "operator", "ada"], "-")]
    assert made not in listing.stdout


def test_one_tenants_tokens_are_listed_alone(tokens: Command) -> None:
    for tenant in ("acme", "a&b=c/ü"):
        tokens("create", "--tenant", tenant, "--role", "viewer", "--name", "x")
    assert [one["tenant"] for one in json_lines(tokens("list", "--tenant", "a&b=c/ü", "--json"))] == ["a&b=c/ü"]


def test_an_unknown_id_ends_with_code_4(tokens: Command) -> None:
    for token_id in ("tok_aaaaaaaaaaaa", "../limits/acme", "a b"):
        assert tokens("revoke", token_id).exit_code == 4


def test_the_text_of_a_token_is_not_sent_where_its_id_belongs(server: ApiServer, tokens: Command) -> None:
    """The path of a call is in the logs of the API."""
    made = tokens("create", *ADA).stdout.strip()
    server.calls.clear()
    result = tokens("revoke", made)
    assert (result.exit_code, server.calls) == (2, [])
    assert made not in result.output


def test_a_wrong_option_is_refused_by_its_name(server: ApiServer, tokens: Command) -> None:
    for lifetime in ("30", "0d", "1.5h", "3y", "", "999999999w"):
        result = tokens("create", *ADA, "--expires", lifetime)
        assert (result.exit_code, "--expires" in result.stderr) == (2, True), lifetime
    for missing in ("--tenant", "--role", "--name"):
        place = ADA.index(missing)
        result = tokens("create", *ADA[:place], *ADA[place + 2 :])
        assert (result.exit_code, missing in result.stderr) == (2, True)
    for other in (["--url", "http://a"], ["--token", "x"]):
        assert tokens("list", "--stage", "prod", *other).exit_code == 2
    assert server.calls == []


def test_a_token_that_cannot_be_made_is_refused_by_its_field(server: ApiServer, tokens: Command) -> None:
    assert tokens("create", "--tenant", "a", "--role", "root", "--name", "x").exit_code == 2
    for tenant in ("onthedot", "a" * 101):
        result = tokens("create", "--tenant", tenant, "--role", "admin", "--name", "x")
        assert (result.exit_code, "tenant: " in result.stderr) == (3, True)
    assert server.world.tokens.page(10).items == []


def test_another_token_than_an_admins_is_refused_by_name(server: ApiServer, tokens: Command) -> None:
    server.role = "operator"
    for arguments in (["list"], ["create", *ADA], ["revoke", "tok_x"]):
        result = tokens(*arguments)
        assert (result.exit_code, "use an admin's as ONTHEDOT_TOKEN" in result.stderr) == (3, True)


def test_a_create_whose_answer_is_lost_is_not_made_twice(server: ApiServer, tokens: Command) -> None:
    server.answers["/v1/tokens"] = [503]
    assert tokens("create", *ADA).exit_code == 5
    assert server.calls == ["/v1/tokens"]
