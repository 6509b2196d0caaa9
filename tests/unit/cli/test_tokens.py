"""`onthedot tokens` over REST: with the admin token of the local stack, or at another API."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from onthedot.cli.main import main
from onthedot.domain.instants import format_instant
from onthedot.ports import Principal
from onthedot.use_cases.access.tokens import authenticate
from tests.unit.worker.world import TOKEN, ApiServer, a_passing_world, serving

ADA = ["--tenant", "acme", "--role", "operator", "--name", "ada"]
DAY_MS = 86_400_000


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with a_passing_world() as world, serving(world) as server:
        yield server


@pytest.fixture(autouse=True)
def _a_local_stack(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: ApiServer) -> None:
    for name in [name for name in os.environ if name.startswith("ONTHEDOT_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".onthedot").mkdir()
    (tmp_path / ".onthedot" / "local.json").write_text(json.dumps({"api_url": server.url, "token": TOKEN}))


def tokens(*arguments: str) -> Result:
    result = CliRunner(env={"COLUMNS": "200"}).invoke(main, ["tokens", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), "no traceback"
    return result


def test_a_token_is_made_listed_and_revoked_with_the_token_of_the_local_stack(server: ApiServer) -> None:
    before = server.world.clock.now()
    result = tokens("create", *ADA, "--expires", "30d", "--json")
    assert result.exit_code == 0, result.stderr
    made = json.loads(result.stdout)
    assert set(made) == {"token", "id", "tenant", "role", "name", "expires_at"}
    after = server.world.clock.now()
    assert format_instant(before + 30 * DAY_MS) <= made["expires_at"] <= format_instant(after + 30 * DAY_MS)
    assert authenticate(server.world.tokens, f"Bearer {made['token']}") == Principal("acme", "operator", "ada")
    [listed] = [json.loads(line) for line in tokens("list", "--json").stdout.splitlines()]
    assert {name: listed[name] for name in made if name != "token"} == {n: v for n, v in made.items() if n != "token"}
    assert tokens("revoke", made["id"]).stdout == f"Token {made['id']} is revoked.\n"
    assert authenticate(server.world.tokens, f"Bearer {made['token']}") is None
    assert tokens("list").stderr == "There are no tokens.\n"
    assert tokens("list", "--json").stdout == ""


def test_a_script_gets_the_token_alone_on_stdout(server: ApiServer) -> None:
    result = tokens("create", *ADA)
    assert authenticate(server.world.tokens, f"Bearer {result.stdout.strip()}") is not None
    assert "operator of tenant acme, valid until it is revoked" in result.stderr


def test_people_get_a_table_without_texts_of_tokens() -> None:
    made = tokens("create", *ADA).stdout.strip()
    tokens("create", "--tenant", "a\u202eb", "--role", "viewer", "--name", "zoë", "--expires", "1h")
    listing = tokens("list").stdout
    header, *rows = (line.split("\t") for line in listing.splitlines())
    assert header == ["ID", "TENANT", "ROLE", "NAME", "CREATED", "EXPIRES"]
    assert [row[1:4] for row in rows] == [["acme", "operator", "ada"]]
    assert [row[5] for row in rows] == ["-"]
    assert made not in listing


def test_one_tenants_tokens_are_listed_alone() -> None:
    for tenant in ("acme", "a&b=c/ü"):
        tokens("create", "--tenant", tenant, "--role", "viewer", "--name", "x")
    [row] = tokens("list", "--tenant", "a&b=c/ü", "--json").stdout.splitlines()
    assert json.loads(row)["tenant"] == "a&b=c/ü"


@pytest.mark.parametrize("token_id", ["tok_aaaaaaaaaaaa", "../limits/acme", "a b"])
def test_an_unknown_id_ends_with_code_4(token_id: str) -> None:
    result = tokens("revoke", token_id)
    assert (result.exit_code, "there is no token with this id" in result.stderr) == (4, True)


def test_the_text_of_a_token_is_not_sent_where_its_id_belongs(server: ApiServer) -> None:
    """The path of a call is in the logs of the API."""
    made = tokens("create", *ADA).stdout.strip()
    server.calls.clear()
    result = tokens("revoke", made)
    assert (result.exit_code, "find the id with" in result.stderr) == (2, True)
    assert made not in result.output
    assert server.calls == []


@pytest.mark.parametrize("lifetime", ["30", "d", "0d", "-1d", "1.5h", "3y", "30 d", "", "999999999w"])
def test_a_lifetime_that_is_no_time_is_refused_by_its_option(server: ApiServer, lifetime: str) -> None:
    result = tokens("create", *ADA, "--expires", lifetime)
    assert (result.exit_code, "--expires" in result.stderr) == (2, True)
    assert server.calls == []


@pytest.mark.parametrize("missing", ["--tenant", "--role", "--name"])
def test_each_option_but_the_expiry_is_needed(missing: str) -> None:
    place = ADA.index(missing)
    result = tokens("create", *ADA[:place], *ADA[place + 2 :])
    assert (result.exit_code, missing in result.stderr) == (2, True)


def test_refusals_are_shown_in_a_sentence(server: ApiServer) -> None:
    assert "'root' is not one of" in tokens("create", "--tenant", "a", "--role", "root", "--name", "x").stderr
    result = tokens("create", "--tenant", "onthedot", "--role", "admin", "--name", "x")
    assert (result.exit_code, "tenant: onthedot is reserved" in result.stderr) == (3, True)
    assert "tenant: is too long" in tokens("create", "--tenant", "a" * 101, "--role", "admin", "--name", "x").stderr
    assert server.world.tokens.page(10).items == []


def test_another_token_than_an_admins_is_refused_by_name(server: ApiServer) -> None:
    server.role = "operator"
    for arguments in (["list"], ["create", *ADA], ["revoke", "tok_x"]):
        result = tokens(*arguments)
        assert (result.exit_code, "use an admin's as ONTHEDOT_TOKEN" in result.stderr) == (3, True)


def test_a_create_whose_answer_is_lost_is_not_made_twice(server: ApiServer) -> None:
    server.answers["/v1/tokens"] = [503]
    assert tokens("create", *ADA).exit_code == 5
    assert server.calls == ["/v1/tokens"]


@pytest.mark.parametrize("other", [["--url", "http://a"], ["--token", "x"]])
def test_a_stage_is_reached_by_credentials_only(other: list[str]) -> None:
    result = tokens("list", "--stage", "prod", *other)
    assert (result.exit_code, "give it without --url and --token" in result.stderr) == (2, True)
