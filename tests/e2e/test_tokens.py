"""Tokens of a home, by the command line: made, used, listed, revoked and expired."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.homes import Api, Home

ONTHEDOT = Path(sys.executable).with_name("onthedot")
MINUTE = 60.0
VALID_SECONDS = 15
"""Of a token that expires. It is used before, also when the command and a function take seconds."""
NO_JOB = "/v1/jobs/job_none/status"
SHOWN = {"token", "id", "tenant", "role", "name", "expires_at"}


class Commands:
    """`onthedot tokens` in a process of its own, as a user calls it."""

    def __init__(self, home: Home, *place: str) -> None:
        self._home, self._place = home.home, place

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ONTHEDOT_", "AWS_"))}
        return subprocess.run(
            [ONTHEDOT, "tokens", *arguments, *self._place],
            env={**kept, "ONTHEDOT_HOME": str(self._home)},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def answer(self, *arguments: str) -> list[Any]:
        done = self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def create(self, tenant: str, role: str = "operator", *more: str) -> dict[str, Any]:
        [made] = self.answer("create", "--tenant", tenant, "--role", role, "--name", "e2e", *more)
        assert set(made) == SHOWN
        return dict(made)

    def ids(self, tenant: str) -> set[str]:
        return {one["id"] for one in self.answer("list", "--tenant", tenant)}


@pytest.fixture
def over_rest(home: Home) -> Commands:
    return Commands(home)


@pytest.fixture
def by_credentials(deployment: Deployment) -> Commands:
    return Commands(deployment, "--stage", "local")


def seconds_until_refused(api: Api) -> float:
    began = time.monotonic()
    while (status := api.call("GET", NO_JOB)[0]) != 401:
        assert status == 404, "a valid token finds no such job"
        assert time.monotonic() - began < 2 * MINUTE
        time.sleep(0.5)
    return time.monotonic() - began


def test_a_token_is_made_used_listed_and_refused_within_a_minute_after_it_was_revoked(
    home: Home, over_rest: Commands
) -> None:
    _make_use_and_revoke(home, over_rest)


def test_the_same_with_aws_credentials(deployment: Deployment, by_credentials: Commands) -> None:
    _make_use_and_revoke(deployment, by_credentials)


def _make_use_and_revoke(home: Home, commands: Commands) -> None:
    made = commands.create("tokens-1")
    api = Api(home.api.url, made["token"])
    assert api.call("GET", NO_JOB)[0] == 404
    assert made["id"] in commands.ids("tokens-1")
    assert made["id"] not in commands.ids("tokens-2")
    assert commands.answer("revoke", made["id"]) == [{"deleted": True}]
    assert seconds_until_refused(api) < MINUTE * home.pace
    assert made["id"] not in commands.ids("tokens-1")
    assert commands.run("revoke", made["id"]).returncode == 4


def test_api_gateway_remembers_a_token_for_less_than_a_minute(deployment: Deployment) -> None:
    gateway = deployment.client("apigateway")
    [api] = [one["id"] for one in gateway.get_rest_apis()["items"] if one["name"] == "onthedot-local-api"]
    [authorizer] = gateway.get_authorizers(restApiId=api)["items"]
    assert 0 < authorizer["authorizerResultTtlInSeconds"] <= 50


def test_a_token_is_refused_within_a_minute_after_it_has_expired(home: Home) -> None:
    made = Commands(home).create("tokens-3", "viewer", "--expires", f"{VALID_SECONDS}s")
    api = Api(home.api.url, made["token"])
    assert api.call("GET", NO_JOB)[0] == 404
    assert seconds_until_refused(api) < VALID_SECONDS + MINUTE * home.pace
    assert Commands(home).ids("tokens-3") == set()


@pytest.mark.parametrize("role", ["viewer", "operator", "worker"])
def test_only_an_admin_makes_sees_and_revokes_tokens(home: Home, role: str) -> None:
    made = Commands(home).create("tokens-4", role)
    api = Api(home.api.url, made["token"])
    wanted = {"tenant": "tokens-4", "role": "admin", "name": "mine"}
    for method, path, body in (
        ("POST", "/v1/tokens", wanted),
        ("GET", "/v1/tokens", None),
        ("DELETE", f"/v1/tokens/{made['id']}", None),
    ):
        status, answer = api.call(method, path, body)
        assert (status, answer["error"]["code"]) == (403, "forbidden")
    done = Commands(home, "--url", home.api.url, "--token", made["token"]).run("list")
    assert (done.returncode, "ONTHEDOT_TOKEN" in done.stderr) == (3, True)
    assert Commands(home).ids("tokens-4") >= {made["id"]}


def test_the_token_of_a_home_is_an_admins(home: Home) -> None:
    assert home.api.call("GET", "/v1/tokens")[0] == 200


def test_no_token_is_made_for_the_stages_own_tenant(over_rest: Commands) -> None:
    _refuse_the_reserved_tenant(over_rest)


def test_nor_with_aws_credentials(by_credentials: Commands) -> None:
    _refuse_the_reserved_tenant(by_credentials, 1)  # no API refuses it


def _refuse_the_reserved_tenant(commands: Commands, code: int = 3) -> None:
    done = commands.run("create", "--tenant", "onthedot", "--role", "admin", "--name", "e2e")
    assert (done.returncode, "tenant: onthedot is reserved" in done.stderr) == (code, True)


@pytest.mark.parametrize("way", [(), ("--stage", "local")], ids=["over REST", "by AWS credentials"])
def test_tokens_are_stored_hashed_only(deployment: Deployment, way: tuple[str, ...]) -> None:
    made = Commands(deployment, *way).create("tokens-5")
    stored = str(deployment.all_items())
    assert made["id"] in stored
    assert made["token"] not in stored
    assert made["token"].removeprefix("otd_") not in stored
