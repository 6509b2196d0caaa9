"""Calls of AWS targets, made to a MiniStack or to a peer that answers what a test wants."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from onthedot.core.ports import Answer
from onthedot.targets.aws.callers import AwsCaller, LambdaInvoker
from onthedot.targets.aws.clients import make_client
from onthedot.targets.rules import AllowedCall, AllowList
from onthedot.targets.types import AwsTarget, LambdaTarget
from tests.unit.targets.http.peer import a_peer, sending
from tests.unit.targets.kit import a_call_of


def clients_at(url: str) -> Callable[[str, float], Any]:
    """Makes clients as a worker does, but for this endpoint."""
    return partial(
        make_client,
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


def an_invoker(url: str, *functions: str) -> LambdaInvoker:
    return LambdaInvoker(allow_list=AllowList(functions=functions), make=partial(clients_at(url), "lambda"))


def a_caller(url: str, *calls: tuple[str, str]) -> AwsCaller:
    allowed = AllowList(calls=tuple(AllowedCall(service, action) for service, action in calls))
    return AwsCaller(allow_list=allowed, make=clients_at(url))


def performed(endpoint: str, target: AwsTarget, payload: Any = None) -> Answer:
    """A call that the stage allows."""
    caller = a_caller(endpoint, (target.service, target.action))
    return caller.perform(a_call_of(target, json.dumps(payload).encode()))


def refused(answer: Answer, error_class: str) -> str:
    """Why a call failed for good."""
    assert (answer.ok, answer.retryable, answer.error_class) == (False, False, error_class)
    return answer.error or ""


def answered_by_aws(content: bytes, service: str = "sqs", action: str = "ListQueues", **given: Any) -> Answer:
    """Return the answer for these bytes of a service."""
    with a_peer(sending(content)) as peer:
        return performed(f"http://127.0.0.1:{peer.port}", AwsTarget(service, action, given))


def answered_by_lambda(content: bytes) -> Answer:
    """Return the answer for these bytes of Lambda."""
    with a_peer(sending(content)) as peer:
        return an_invoker(f"http://127.0.0.1:{peer.port}", "*").perform(a_call_of(LambdaTarget("anything")))
