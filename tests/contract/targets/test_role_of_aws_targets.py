"""The role of jobs' AWS calls: assumed once for many calls, renewed in time, and a failure of its own call only."""

import json
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError

from onthedot.core.ports import Answer
from onthedot.targets.aws.callers import AwsCaller, LambdaInvoker
from onthedot.targets.aws.clients import make_client, session_of
from onthedot.targets.rules import AllowedCall, AllowList
from onthedot.targets.types import AwsTarget, LambdaTarget
from onthedot.wiring.workers import aws_factories
from tests.builders import DEPLOYMENT, a_world
from tests.contract.kits.ministack_kit import Clients
from tests.unit.targets.http.peer import Peer, a_peer, reply, sending
from tests.unit.targets.kit import a_call_of

ROLE = "arn:aws:iam::123456789012:role/onthedot-test-calls-us-east-1"
START = datetime(2026, 1, 1, tzinfo=UTC)
AN_HOUR = timedelta(hours=1)
answering = sending(reply(200, b"{}", {"Connection": "close"}))


class Sts:
    """STS that gives the credentials KEY1, KEY2, … for an hour each, or fails as told."""

    def __init__(self) -> None:
        self.now = START
        self.roles: list[str] = []
        self.failure: Exception | None = None
        self.lives = AN_HOUR
        self.hold: Callable[[], Any] = lambda: None

    def assume_role(self, *, RoleArn: str, RoleSessionName: str) -> dict[str, Any]:  # noqa: N803 - boto3's names
        assert RoleSessionName == "onthedot-jobs"
        self.roles.append(RoleArn)
        self.hold()
        if self.failure is not None:
            raise self.failure
        given = {"AccessKeyId": f"KEY{len(self.roles)}", "SecretAccessKey": "s", "SessionToken": "t"}
        return {"Credentials": {**given, "Expiration": self.now + self.lives}}


class Setting:
    """Both performers with one role, before a service that answers every call."""

    def __init__(self, peer: Peer, sts: Sts) -> None:
        self._peer = peer
        session = session_of(ROLE, lambda: sts, lambda: sts.now)
        make = partial(
            make_client, session=session, endpoint_url=f"http://127.0.0.1:{peer.port}", region_name="us-east-1"
        )
        allowed = AllowList(("*",), (AllowedCall("sqs", "ListQueues"),))
        self._caller = AwsCaller(allow_list=allowed, make=make)
        self._invoker = LambdaInvoker(allow_list=allowed, make=partial(make, "lambda"))

    def call(self) -> Answer:
        return self._caller.perform(a_call_of(AwsTarget("sqs", "ListQueues"), timeout_ms=60_000))

    def invoke(self) -> Answer:
        return self._invoker.perform(a_call_of(LambdaTarget("f"), timeout_ms=60_000))

    def keys(self) -> list[str]:
        """The access key of each call that the service got."""
        return [found for request in self._peer.heads for found in re.findall(r"Credential=(\w+)/", request)]


@pytest.fixture
def sts() -> Sts:
    return Sts()


def test_one_role_session_serves_all_calls_of_both_performers(sts: Sts) -> None:
    with a_peer(answering) as peer:
        setting = Setting(peer, sts)
        assert sts.roles == [], "a worker that runs no such job does not need the role"
        with ThreadPoolExecutor(8) as pool:
            answers = [*pool.map(lambda _: setting.call(), range(8)), setting.invoke()]
        assert [answer.ok for answer in answers] == [True] * 9
        assert setting.keys() == ["KEY1"] * 9
    assert sts.roles == [ROLE]


def test_it_is_renewed_before_it_expires(sts: Sts) -> None:
    with a_peer(answering) as peer:
        setting = Setting(peer, sts)
        for minutes in (0, 44, 46, 90, 92):
            sts.now = START + timedelta(minutes=minutes)
            assert setting.call().ok
        assert setting.keys() == ["KEY1", "KEY1", "KEY2", "KEY2", "KEY3"]


def test_a_renewal_that_fails_early_leaves_the_old_credentials_in_use(sts: Sts) -> None:
    with a_peer(answering) as peer:
        setting = Setting(peer, sts)
        assert setting.call().ok
        sts.now, sts.failure = START + timedelta(minutes=46), refusal()
        assert setting.call().ok
        sts.now = START + timedelta(minutes=51)
        assert setting.call().error_class == "role_not_assumed"
        assert setting.keys() == ["KEY1", "KEY1"]


def refusal() -> ClientError:
    why = "User: worker is not authorized to perform: sts:AssumeRole"
    return ClientError({"Error": {"Code": "AccessDenied", "Message": why}}, "AssumeRole")


@pytest.mark.parametrize("failure", [refusal(), ConnectTimeoutError(endpoint_url="https://sts.test")])
def test_a_role_that_cannot_be_assumed_is_a_failed_attempt_with_the_reason(sts: Sts, failure: Exception) -> None:
    sts.failure = failure
    with a_peer(answering) as peer:
        setting = Setting(peer, sts)
        for answer in (setting.call(), setting.invoke()):
            assert (answer.ok, answer.error_class, answer.retryable) == (False, "role_not_assumed", True)
            assert ROLE in (answer.error or "")
            assert str(failure) in (answer.error or "")
        assert setting.keys() == [], "nothing is sent without the role"


def test_the_next_attempt_tries_again(sts: Sts) -> None:
    sts.failure = refusal()
    with a_peer(answering) as peer:
        setting = Setting(peer, sts)
        assert not setting.call().ok
        sts.failure, sts.now = None, START + timedelta(seconds=2)
        assert setting.call().ok


def test_calls_that_wait_for_a_failing_role_fail_with_the_first_and_not_one_after_another(sts: Sts) -> None:
    sts.failure, released = refusal(), threading.Event()
    sts.hold = lambda: released.wait(10)
    with a_peer(answering) as peer, ThreadPoolExecutor(8) as pool:
        setting = Setting(peer, sts)
        calls = [pool.submit(setting.call) for _ in range(8)]
        released.set()
        assert {call.result().error_class for call in calls} == {"role_not_assumed"}
    assert len(sts.roles) == 1


def test_credentials_that_are_old_by_this_machines_clock_are_a_readable_failure(sts: Sts) -> None:
    sts.lives = timedelta(minutes=-1)
    with a_peer(answering) as peer:
        answer = Setting(peer, sts).call()
    assert (answer.error_class, "the clock of this machine is wrong" in (answer.error or "")) == (
        "role_not_assumed",
        True,
    )


@pytest.mark.parametrize(
    ("role", "caller"), [(ROLE, "assumed-role/onthedot-test-calls-us-east-1/onthedot-jobs"), ("", "root")]
)
def test_a_worker_calls_with_the_role_of_its_settings_or_without_one_as_itself(
    ministack: Clients, monkeypatch: pytest.MonkeyPatch, role: str, caller: str
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", ministack.sqs.meta.endpoint_url)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    allowed = AllowList(calls=(AllowedCall("sts", "GetCallerIdentity"),))
    with a_world(replace(DEPLOYMENT, allow_list=allowed)) as world:
        performer = aws_factories(world.engine, role)["aws"]()
        answer = performer.perform(a_call_of(AwsTarget("sts", "GetCallerIdentity")))
    assert json.loads(answer.result or answer.error or "")["Arn"].endswith(caller)
