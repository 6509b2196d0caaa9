"""AWS APIs as targets, on MiniStack. A peer that answers like AWS stands in where MiniStack cannot."""

import base64
import json
import secrets
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from onthedot.core.ports import RESULT_BYTES, Answer
from onthedot.targets.aws.callers import STREAM_BYTES
from onthedot.targets.types import AwsTarget
from tests.contract.kits.aws_target_kit import a_caller, answered_by_aws, performed, refused
from tests.contract.kits.ministack_kit import Clients
from tests.unit.targets.http.peer import a_peer, reply, sending
from tests.unit.targets.kit import a_call_of


@pytest.fixture(scope="module")
def endpoint(ministack: Clients) -> str:
    return ministack.sqs.meta.endpoint_url


@pytest.fixture(scope="module")
def queue_url(ministack: Clients) -> str:
    return ministack.sqs.create_queue(QueueName=f"target-{secrets.token_hex(4)}")["QueueUrl"]


@pytest.fixture(scope="module")
def bucket(ministack: Clients) -> str:
    name = f"target-{secrets.token_hex(4)}"
    ministack.s3.create_bucket(Bucket=name)
    return name


def test_a_call_is_made_with_the_input_and_its_reply_is_the_result(
    endpoint: str, queue_url: str, ministack: Clients
) -> None:
    answer = performed(endpoint, AwsTarget("sqs", "SendMessage", {"QueueUrl": queue_url, "MessageBody": "hé"}))
    assert answer.ok
    (message,) = ministack.sqs.receive_message(QueueUrl=queue_url)["Messages"]
    result = json.loads(answer.result or "")
    assert (message["Body"], result["MessageId"]) == ("hé", message["MessageId"])
    assert "ResponseMetadata" not in result


def test_without_an_input_the_payload_is_the_input(endpoint: str, queue_url: str) -> None:
    answer = performed(endpoint, AwsTarget("sqs", "GetQueueAttributes"), {"QueueUrl": queue_url})
    assert answer.ok


def test_without_either_the_input_is_empty(endpoint: str, bucket: str) -> None:
    answer = performed(endpoint, AwsTarget("s3", "ListBuckets"))
    listed = {entry["Name"]: entry for entry in json.loads(answer.result or "")["Buckets"]}
    assert "T" in listed[bucket]["CreationDate"], "times are ISO 8601"


@pytest.mark.parametrize("payload", [b"[1]", b"5", b"\xff{"])
def test_a_payload_that_is_no_json_object_is_no_input(payload: bytes) -> None:
    call = a_call_of(AwsTarget("s3", "ListBuckets"), payload)
    assert refused(a_caller("http://127.0.0.1:9", ("s3", "ListBuckets")).perform(call), "bad_input")


def test_a_stream_is_read_and_given_as_base64(endpoint: str, bucket: str) -> None:
    stored = performed(endpoint, AwsTarget("s3", "PutObject", {"Bucket": bucket, "Key": "k", "Body": "né\n"}))
    assert stored.ok
    answer = performed(endpoint, AwsTarget("s3", "GetObject", {"Bucket": bucket, "Key": "k"}))
    assert base64.b64decode(json.loads(answer.result or "")["Body"]).decode() == "né\n"


def test_of_a_long_stream_as_much_is_read_as_makes_a_whole_result(
    endpoint: str, bucket: str, ministack: Clients
) -> None:
    ministack.s3.put_object(Bucket=bucket, Key="long", Body=bytes(3 * RESULT_BYTES))
    answer = performed(endpoint, AwsTarget("s3", "GetObject", {"Bucket": bucket, "Key": "long"}))
    assert len(base64.b64decode(json.loads(answer.result or "")["Body"])) == STREAM_BYTES
    assert len(answer.result or "") < RESULT_BYTES


def test_blobs_in_a_result_are_base64() -> None:
    answer = answered_by_aws(reply(200, b'{"Plaintext": "AP8="}'), "kms", "Decrypt", CiphertextBlob="x")
    assert answer == Answer(ok=True, result='{"Plaintext":"AP8="}')


def test_a_call_that_the_stage_does_not_allow_is_not_made() -> None:
    with a_peer(sending(reply())) as peer:
        caller = a_caller(f"http://127.0.0.1:{peer.port}", ("sqs", "SendMessage"))
        answer = caller.perform(a_call_of(AwsTarget("sqs", "DeleteQueue", {"QueueUrl": "x"})))
        assert peer.connections == 0
    assert refused(answer, "not_allowed") == "sqs DeleteQueue is not among the calls that this stage allows"


@pytest.mark.parametrize("action", ["MakeCoffee", "send_message", "close", "__class__", ""])
def test_an_action_that_the_service_does_not_have_is_not_called(endpoint: str, action: str) -> None:
    error = refused(performed(endpoint, AwsTarget("sqs", action)), "unknown_action")
    assert error.startswith("sqs has no action")


def test_a_service_that_does_not_exist_is_not_called(endpoint: str) -> None:
    error = refused(performed(endpoint, AwsTarget("coffee", "Make")), "unknown_service")
    assert error == "there is no such AWS service"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, 'Missing required parameter in input: "QueueUrl"'),
        ({"QueueUrl": "x", "MessageBody": 5}, "Invalid type for parameter MessageBody"),
        ({"QueueUrl": "x", "MessageBody": "x", "Colour": "red"}, 'Unknown parameter in input: "Colour"'),
        ({"QueueUrl": "x", "MessageBody": "x", "self": "x"}, "self"),
    ],
)
def test_an_input_that_does_not_fit_is_refused_with_the_reason(given: dict[str, Any], why: str) -> None:
    with a_peer(sending(reply())) as peer:
        answer = performed(f"http://127.0.0.1:{peer.port}", AwsTarget("sqs", "SendMessage", given))
        assert peer.connections == 0
    assert why in refused(answer, "bad_input")


@pytest.mark.parametrize("name", [5, None, "no/such bucket", ""])
def test_garbage_that_botocore_stumbles_over_is_refused_too(endpoint: str, name: Any) -> None:
    answer = performed(endpoint, AwsTarget("s3", "GetObject", {"Bucket": name, "Key": "k"}))
    assert refused(answer, "bad_input")


def test_what_the_service_refuses_is_final_with_its_words(endpoint: str, bucket: str) -> None:
    error = refused(performed(endpoint, AwsTarget("s3", "GetObject", {"Bucket": bucket, "Key": "no"})), "NoSuchKey")
    assert error.startswith("NoSuchKey: ")


def test_every_attempt_of_a_run_sends_the_same_idempotency_token() -> None:
    call = a_call_of(AwsTarget("secretsmanager", "PutSecretValue", {"SecretId": "x", "SecretString": "y"}))
    attempts = [replace(call, run_id=run, attempt=attempt) for run, attempt in [("a", 1), ("a", 2), ("b", 1)]]
    with a_peer(sending(reply(200, b"{}"))) as peer:
        caller = a_caller(f"http://127.0.0.1:{peer.port}", ("secretsmanager", "PutSecretValue"))
        assert all(caller.perform(attempt).ok for attempt in attempts)
    first, again, other = (UUID(json.loads(body)["ClientRequestToken"]) for body in peer.bodies)
    assert first == again != other


def test_the_users_own_idempotency_token_is_kept() -> None:
    with a_peer(sending(reply(200, b"{}"))) as peer:
        given = {"SecretId": "x", "SecretString": "y", "ClientRequestToken": "t" * 32}
        target = AwsTarget("secretsmanager", "PutSecretValue", given)
        assert performed(f"http://127.0.0.1:{peer.port}", target).ok
    assert json.loads(peer.bodies[0])["ClientRequestToken"] == "t" * 32
