"""Every type of target: accepted as it is, shown without its secrets, refused by the field's name."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from onthedot.targets.rules import AllowedCall, AllowList
from onthedot.targets.types import AwsTarget, GrpcTarget, LambdaTarget, PythonTarget, ShellTarget
from tests.builders import DEPLOYMENT, World, a_world
from tests.unit.api.kit import SHELL, URL, Api, fields_of, message_of

ARN = "arn:aws:lambda:eu-west-1:123456789012:function:orders-nightly"
ALLOWED = AllowList(("orders-*",), (AllowedCall("sqs", "SendMessage"), AllowedCall("s3", "PutObject")))


@pytest.fixture
def world() -> Iterator[World]:
    with a_world(replace(DEPLOYMENT, allow_list=ALLOWED)) as world:
        yield world


def shown(api: Api, target: dict[str, Any]) -> Any:
    return api.get(f"/v1/jobs/{api.job(target=target)}").body["target"]


GOOD: list[tuple[dict[str, Any], Any, str]] = [
    ({"type": "lambda", "function": "orders-nightly"}, LambdaTarget("orders-nightly"), "default"),
    ({"type": "lambda", "function": "orders-nightly:live"}, LambdaTarget("orders-nightly:live"), "default"),
    ({"type": "lambda", "function": ARN}, LambdaTarget(ARN), "default"),
    ({"type": "aws", "service": "sqs", "action": "SendMessage"}, AwsTarget("sqs", "SendMessage"), "default"),
    (
        {"type": "aws", "service": "s3", "action": "PutObject", "input": {"Bucket": "b", "Key": "k"}},
        AwsTarget("s3", "PutObject", {"Bucket": "b", "Key": "k"}),
        "default",
    ),
    ({"type": "shell", "argv": ["echo", "-n", "ü x"]}, ShellTarget(("echo", "-n", "ü x")), "pull"),
    ({"type": "grpc", "address": "[::1]:50051", "method": "S/M"}, GrpcTarget("[::1]:50051", "S/M"), "default"),
    (
        {"type": "grpc", "address": "orders.example.com:443", "method": "shop.v1.Orders/Close", "tls": False},
        GrpcTarget("orders.example.com:443", "shop.v1.Orders/Close", tls=False),
        "default",
    ),
    ({"type": "python", "handler": "send-email"}, PythonTarget("send-email"), "pull"),
]


@pytest.mark.parametrize(("target", "stored", "pool"), GOOD)
def test_a_target_of_each_type_is_taken_stored_and_shown(
    api: Api, world: World, target: dict[str, Any], stored: Any, pool: str
) -> None:
    response = api.submit(target=target)
    assert (response.status, response.body["pool"]) == (202, pool)
    run = world.store.get(response.body["job_id"])
    assert run is not None
    assert run.definition is not None
    assert run.definition.target == stored
    assert api.get(f"/v1/jobs/{run.job_id}").body["target"] == target


def test_an_inputs_secrets_are_masked_however_deep_and_its_keys_are_not(api: Api) -> None:
    given = {
        "Key": "k",
        "Password": "p",
        "SecretString": {"a": 1},
        "Items": [{"api_key": 1, "Name": "n"}],
        "Auth": {"AccessKey": "A", "User": "u"},
    }
    masked = {
        "Key": "k",
        "Password": "***",
        "SecretString": "***",
        "Items": [{"api_key": "***", "Name": "n"}],
        "Auth": {"AccessKey": "***", "User": "u"},
    }
    assert shown(api, {"type": "aws", "service": "s3", "action": "PutObject", "input": given})["input"] == masked


def test_a_mask_that_is_sent_back_is_refused_by_its_place(api: Api) -> None:
    masked = {"type": "aws", "service": "s3", "action": "PutObject", "input": {"a": [{"token": "***"}]}}
    response = api.send("PATCH", f"/v1/jobs/{api.job(delay=3600)}", target=masked)
    assert (response.status, fields_of(response)) == (422, {"target.input.a.0.token"})


def grpc(**fields: Any) -> dict[str, Any]:
    return {"type": "grpc", "address": "a:1", "method": "S/M", **fields}


def aws(**fields: Any) -> dict[str, Any]:
    return {"type": "aws", "service": "sqs", "action": "SendMessage", **fields}


BAD: list[tuple[Any, str, str]] = [
    ({"type": "smoke"}, "target.type", "'http', 'lambda', 'aws', 'shell', 'grpc', 'python'"),
    ({"type": None}, "target.type", "give 'http'"),
    ({}, "target.type", "missing"),
    ({"type": "lambda", "function": ""}, "target.function", "name nor its full ARN"),
    ({"type": "lambda", "function": "123456789012:function:orders-x"}, "target.function", "full ARN"),
    ({"type": "lambda", "function": "o" * 171}, "target.function", "at most 170"),
    ({"type": "lambda", "function": "orders-a", "url": URL}, "target.url", "unknown field"),
    (aws(service="SQS"), "target.service", "boto3"),
    (aws(action="send_message"), "target.action", "SendMessage"),
    (aws(input=[]), "target.input", "object"),
    (aws(input=None), "target.input", "leave it out"),
    (aws(input={"a": "x" * 40_000}), "target.input", "32,768"),
    ({"type": "shell", "argv": "ls"}, "target.argv", "not a list; send […]"),
    ({"type": "shell", "argv": []}, "target.argv", "at least 1"),
    ({"type": "shell", "argv": [""]}, "target.argv.0", "empty"),
    ({"type": "shell", "argv": ["a", 3]}, "target.argv.1", "string"),
    ({"type": "shell", "argv": ["a", "b\0"]}, "target.argv.1", "zero character"),
    ({"type": "shell", "argv": ["a"] * 101}, "target.argv", "at most 100"),
    ({"type": "shell", "argv": ["ü" * 17_000]}, "target.argv", "34,004 bytes"),
    ({"type": "shell", "argv": ["\x01" * 6_000]}, "target.argv", "36,004 bytes"),
    (grpc(tls="yes"), "target.tls", "true"),
    (grpc(tls=None), "target.tls", "leave it out"),
    ({"type": "python", "handler": ""}, "target.handler", "empty"),
    ({"type": "python", "handler": "x" * 74}, "target.handler", "at most 73"),
    ({"type": "python", "handler": "a,b"}, "target.handler", "comma"),
]


@pytest.mark.parametrize(("target", "name", "advice"), BAD)
def test_a_bad_target_is_refused_by_the_fields_name_and_nothing_is_stored(
    api: Api, target: Any, name: str, advice: str
) -> None:
    response = api.submit(target=target)
    assert (response.status, fields_of(response)) == (422, {name})
    assert advice in message_of(response)
    assert len(response.text) < 1_000
    assert api.stored() == []


def test_every_mistake_of_a_target_is_named_at_once(api: Api) -> None:
    response = api.submit(target={"type": "grpc", "address": "x", "colour": 1}, priority="x")
    assert fields_of(response) == {"target.address", "target.method", "target.colour", "priority"}


@pytest.mark.parametrize("function", ["payments", "arn:aws:lambda:eu-west-1:123456789012:function:payments"])
def test_a_function_that_is_not_allowed_is_told_which_are(api: Api, function: str) -> None:
    response = api.submit(target={"type": "lambda", "function": function})
    assert (response.status, fields_of(response)) == (422, {"target.function"})
    assert "orders-*" in message_of(response)
    assert "lambda_functions" in message_of(response)
    assert api.stored() == []


def test_an_aws_call_that_is_not_allowed_is_told_which_are(api: Api) -> None:
    response = api.submit(target=aws(action="DeleteQueue"), payload="x" * 5000)
    assert (response.status, fields_of(response)) == (422, {"target.action"})
    assert "sqs:SendMessage, s3:PutObject" in message_of(response)
    assert api.stored() == []


def test_a_change_to_what_is_not_allowed_is_refused_and_nothing_changes(api: Api) -> None:
    job_id = api.job(delay=3600)
    before = api.stored()
    response = api.send("PATCH", f"/v1/jobs/{job_id}", target=aws(action="DeleteQueue"), payload="x" * 5000)
    assert (response.status, fields_of(response)) == (422, {"target.action"})
    assert api.stored() == before


def test_a_job_whose_function_is_no_longer_allowed_can_still_be_changed_otherwise(api: Api, world: World) -> None:
    job_id = api.job(delay=3600, target={"type": "lambda", "function": "orders-a"})
    stricter = Api(replace(world, deployment=DEPLOYMENT))
    assert stricter.send("PATCH", f"/v1/jobs/{job_id}", timeout_seconds=61).body["pool"] == "long"
    assert stricter.send("PATCH", f"/v1/jobs/{job_id}", target={"type": "lambda", "function": "orders-a"}).status == 422


def test_a_retry_of_a_create_is_answered_though_its_function_is_no_longer_allowed(api: Api, world: World) -> None:
    target = {"type": "lambda", "function": "orders-a"}
    first = api.submit(idempotency_key="k", target=target)
    stricter = Api(replace(world, deployment=DEPLOYMENT))
    again = stricter.submit(idempotency_key="k", target=target)
    assert (again.status, again.body) == (202, first.body)
    (many,) = stricter.send("POST", "/v1/jobs/batch", jobs=[{"idempotency_key": "k", "target": target}]).body["jobs"]
    assert many == first.body


def test_a_batch_refuses_a_target_on_its_own(api: Api) -> None:
    jobs = [{"target": SHELL}, {"target": {"type": "lambda", "function": "payments"}}, {"callback_url": URL}]
    shell, refused, http = api.send("POST", "/v1/jobs/batch", jobs=jobs).body["jobs"]
    assert (shell["pool"], http["pool"]) == ("pull", "default")
    assert refused["error"]["details"][0]["field"] == "target.function"
