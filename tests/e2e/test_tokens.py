"""Tokens of a home, by the command line: made, used, listed, revoked and expired."""

import json
import subprocess
import time
from typing import Any

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.homes import Api, Home
from tests.served import command

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
        return command(self._home, "tokens", *arguments, *self._place)

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


def test_a_token_is_refused_within_a_minute_after_it_has_expired(home: Home) -> None:
    made = Commands(home).create("tokens-3", "viewer", "--expires", f"{VALID_SECONDS}s")
    api = Api(home.api.url, made["token"])
    assert api.call("GET", NO_JOB)[0] == 404
    assert seconds_until_refused(api) < VALID_SECONDS + MINUTE * home.pace
    assert Commands(home).ids("tokens-3") == set()


@pytest.mark.parametrize("way", [(), ("--stage", "local")], ids=["over REST", "by AWS credentials"])
def test_tokens_are_stored_hashed_only(deployment: Deployment, way: tuple[str, ...]) -> None:
    made = Commands(deployment, *way).create("tokens-5")
    stored = str(deployment.all_items())
    assert made["id"] in stored
    assert made["token"] not in stored
    assert made["token"].removeprefix("otd_") not in stored
