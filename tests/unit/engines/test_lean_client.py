"""The lean client of DynamoDB and SQS, against a peer that answers well or badly."""

import contextlib
import json
import shutil
import ssl
import subprocess
import threading
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call

import boto3
import botocore.auth
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from botocore.retries import standard
from botocore.session import get_session

from onthedot.core.errors import Unavailable, Unreachable
from onthedot.engines.aws import client as lean
from onthedot.engines.aws.client import ATTEMPTS, LeanClient, is_usable
from onthedot.engines.aws.errors import TRANSIENT, ErrorReply, NoReply, translated
from onthedot.engines.aws.throttling import throttle_counter
from tests.unit.engines.aws_peer import ENVIRONMENT, AwsPeer, Request, a_client, closing, error, reply
from tests.unit.targets.http.peer import a_peer, sending
from tests.unit.targets.http.peer import reply as http_reply

A_REGION = {"AWS_REGION": "eu-west-1"}


def get(client: Any) -> Any:
    return client.get_item(TableName="jobs", Key={"pk": {"S": "job"}})


def assert_unavailable(client: Any) -> None:
    with pytest.raises(Unavailable), translated("get"):
        get(client)


def dated(moment: datetime) -> dict[str, str]:
    return {"date": format_datetime(moment.astimezone(UTC), usegmt=True)}


# --- which client is used --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "usable"),
    [
        ({}, True),
        ({"AWS_SESSION_TOKEN": "t"}, True),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:4566"}, True),
        ({"AWS_USE_FIPS_ENDPOINT": "false", "AWS_USE_DUALSTACK_ENDPOINT": ""}, True),
        ({"ONTHEDOT_AWS_CLIENT": "boto3"}, False),
        ({"AWS_USE_FIPS_ENDPOINT": "true"}, False),
        ({"AWS_USE_DUALSTACK_ENDPOINT": "True"}, False),
        ({"AWS_PROFILE": "other"}, False),
        ({"AWS_CA_BUNDLE": "/roots.pem"}, False),
        ({"https_proxy": "http://proxy:3128"}, False),
        ({"AWS_LAMBDA_FUNCTION_NAME": ""}, False),
        ({"AWS_ACCESS_KEY_ID": ""}, False),
        ({"AWS_SECRET_ACCESS_KEY": ""}, False),
    ],
)
def test_it_is_for_lambda_with_its_keys_and_without_settings_that_it_does_not_know(
    changes: dict[str, str], usable: bool
) -> None:
    assert [is_usable(service, {**ENVIRONMENT, **changes}) for service in ("dynamodb", "sqs")] == [usable] * 2


def test_other_services_are_boto3s() -> None:
    assert not is_usable("s3", ENVIRONMENT)


@pytest.mark.parametrize("service", ["dynamodb", "sqs"])
def test_its_hosts_are_those_of_botocore_in_every_region_of_every_partition(service: str) -> None:
    session: Any = get_session()
    resolver = session._get_internal_component("endpoint_resolver")
    regions = [
        region
        for partition in resolver.get_available_partitions()
        for region in resolver.get_available_endpoints(service, partition)
    ]
    assert len(regions) > 30
    theirs = {region: f"https://{resolver.construct_endpoint(service, region)['hostname']}" for region in regions}
    assert {region: LeanClient(service, {"AWS_REGION": region})._endpoint for region in regions} == theirs


@pytest.mark.parametrize(
    ("service", "named", "host"),
    [
        ("sqs", {"AWS_ENDPOINT_URL": "http://all:1"}, "all:1"),
        ("sqs", {"AWS_ENDPOINT_URL": "http://all:1", "AWS_ENDPOINT_URL_SQS": "http://own:80"}, "own"),
        ("dynamodb", {"AWS_ENDPOINT_URL": "https://all:443/", "AWS_ENDPOINT_URL_SQS": "http://own:2"}, "all"),
    ],
)
def test_an_endpoint_of_the_environment_is_used(service: str, named: dict[str, str], host: str) -> None:
    assert LeanClient(service, {**A_REGION, **named})._host == host


# --- requests --------------------------------------------------------------------------------------------------------


def signed_by_botocore(monkeypatch: pytest.MonkeyPatch, request: Request, url: str, service: str, token: str) -> str:
    at = datetime.strptime(request.headers["x-amz-date"], "%Y%m%dT%H%M%SZ")  # noqa: DTZ007 - as botocore has it
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda: at)
    ours = {"authorization", "user-agent", "host", "content-length", "accept-encoding", "x-amz-date"}
    headers = {name: value for name, value in request.headers.items() if name not in ours}
    signed = AWSRequest("POST", url, headers=headers, data=request.body)
    SigV4Auth(Credentials("AKID", "secret", token), service, "eu-west-1").add_auth(signed)
    return str(signed.headers["Authorization"])


@pytest.mark.parametrize("token", ["", "a/session+token=="])
@pytest.mark.parametrize(("service", "path"), [("dynamodb", ""), ("sqs", ""), ("sqs", "/under/a/path")])
def test_it_signs_as_botocore_does(monkeypatch: pytest.MonkeyPatch, service: str, path: str, token: str) -> None:
    peer = AwsPeer([reply(), reply()])
    client: Any = LeanClient(service, {**ENVIRONMENT, "AWS_ENDPOINT_URL": peer.url + path, "AWS_SESSION_TOKEN": token})
    for text in ("plain", "ü \U0001f389 \ud800"):
        (client.put_item if service == "dynamodb" else client.send_message)(Text=text)
    client.close()
    peer.close()
    for request in peer.requests:
        theirs = signed_by_botocore(monkeypatch, request, peer.url + path, service, token)
        assert request.headers["authorization"] == theirs
        assert request.headers.get("x-amz-security-token", "") == token


def test_a_request_is_the_arguments_as_json_under_the_name_of_the_operation() -> None:
    with a_client(reply(), reply(), environment={**ENVIRONMENT, "_X_AMZN_TRACE_ID": "Root=1"}) as (client, peer):
        client.batch_get_item(RequestItems={"jobs": {"Keys": ({"pk": {"S": "ü"}},)}})
        client.describe_table(TableName="jobs")
    first, second = peer.requests
    assert json.loads(first.body) == {"RequestItems": {"jobs": {"Keys": [{"pk": {"S": "ü"}}]}}}
    assert first.line == "POST / HTTP/1.1"
    assert first.headers["x-amz-target"] == "DynamoDB_20120810.BatchGetItem"
    assert first.headers["content-type"] == "application/x-amz-json-1.0"
    assert first.headers["user-agent"].startswith("onthedot/")
    assert first.headers["x-amzn-trace-id"] == "Root=1"
    assert second.headers["x-amz-target"] == "DynamoDB_20120810.DescribeTable"


def test_keys_are_read_for_each_request() -> None:
    environment = dict(ENVIRONMENT)
    with a_client(reply(), error("ExpiredTokenException"), reply(), environment=environment) as (client, peer):
        get(client)
        environment |= {"AWS_ACCESS_KEY_ID": "NEW", "AWS_SECRET_ACCESS_KEY": "other", "AWS_SESSION_TOKEN": "t"}
        with pytest.raises(Unreachable), translated("get"):  # another attempt with the same keys would not help
            get(client)
        environment |= {"AWS_ACCESS_KEY_ID": "NEWER", "AWS_SECRET_ACCESS_KEY": "another"}
        get(client)
    used = [request.headers["authorization"].split("Credential=")[1].split("/")[0] for request in peer.requests]
    assert used == ["AKID", "NEW", "NEWER"]
    assert len({request.headers["authorization"].split("Signature=")[1] for request in peer.requests}) == 3


# --- replies ---------------------------------------------------------------------------------------------------------

REPLIES = [
    ("dynamodb", "get_item", {"Item": {"pk": {"S": "ü"}, "n": {"N": "1"}, "set": {"SS": ["a", "b"]}}}),
    ("dynamodb", "get_item", {}),
    ("dynamodb", "query", {"Items": [], "Count": 0, "ScannedCount": 3, "LastEvaluatedKey": {"pk": {"S": "a"}}}),
    ("dynamodb", "batch_get_item", {"Responses": {"jobs": [{"pk": {"S": "a"}}]}, "UnprocessedKeys": {}}),
    (
        "dynamodb",
        "batch_execute_statement",
        {"Responses": [{"TableName": "jobs"}, {"Error": {"Code": "DuplicateItem", "Message": "m"}}]},
    ),
    ("sqs", "receive_message", {"Messages": [{"MessageId": "1", "Body": "{}", "Attributes": {"A": "1"}}]}),
    ("sqs", "receive_message", {}),
    ("sqs", "send_message_batch", {"Successful": [{"Id": "0"}], "Failed": [{"Id": "1", "SenderFault": True}]}),
    ("sqs", "get_queue_attributes", {"Attributes": {"ApproximateNumberOfMessages": "3"}}),
]
ERRORS = [
    ("dynamodb", error("ConditionalCheckFailedException")),
    ("dynamodb", reply({"__type": "ValidationException:http://x/", "Message": "m"}, 400)),
    ("dynamodb", reply(b"<html>no</html>", 413)),
    ("dynamodb", reply(b"", 404)),
    (
        "sqs",
        error(
            "QueueDoesNotExist",
            x_amzn_query_error="AWS.SimpleQueueService.NonExistentQueue;Sender",
        ),
    ),
]


def both(service: Any, peer: AwsPeer) -> Iterator[Any]:
    yield LeanClient(service, {**ENVIRONMENT, "AWS_ENDPOINT_URL": peer.url})
    yield boto3.Session("AKID", "secret", region_name="eu-west-1").client(service, endpoint_url=peer.url)


@pytest.mark.parametrize(("service", "method", "content"), REPLIES)
def test_replies_are_those_of_boto3(service: str, method: str, content: Any) -> None:
    peer = AwsPeer([reply(content)] * 2)
    ours, theirs = (_called(client, method) for client in both(service, peer))
    peer.close()
    assert ours == theirs == content


@pytest.mark.parametrize(("service", "content"), ERRORS)
def test_errors_are_those_of_boto3(service: str, content: bytes) -> None:
    peer = AwsPeer([content] * 2)
    codes = []
    for client in both(service, peer):
        with pytest.raises((ErrorReply, ClientError)) as raised:
            _called(client, "get_item" if service == "dynamodb" else "delete_message")
        response: Any = getattr(raised.value, "response")  # noqa: B009 - both kinds have it
        codes.append((response["Error"]["Code"], response["ResponseMetadata"]["HTTPStatusCode"]))
    peer.close()
    assert codes[0] == codes[1]


def _called(client: Any, method: str) -> dict[str, Any]:
    arguments: dict[str, dict[str, Any]] = {
        "get_item": {"TableName": "jobs", "Key": {"pk": {"S": "a"}}},
        "query": {"TableName": "jobs"},
        "batch_get_item": {"RequestItems": {}},
        "batch_execute_statement": {"Statements": [{"Statement": "s"}]},
        "send_message_batch": {"QueueUrl": "http://q", "Entries": []},
        "delete_message": {"QueueUrl": "http://q", "ReceiptHandle": "r"},
    }
    with contextlib.closing(client):
        found = getattr(client, method)(**arguments.get(method, {"QueueUrl": "http://q"}))
    return {name: value for name, value in found.items() if name != "ResponseMetadata"}


def test_a_refused_write_shows_the_item() -> None:
    refusal = {"__type": "x#ConditionalCheckFailedException", "message": "m", "Item": {"pk": {"S": "a"}}}
    with a_client(reply(refusal, 400)) as (client, peer), pytest.raises(ErrorReply) as raised:
        get(client)
    assert raised.value.code == "ConditionalCheckFailedException"
    assert raised.value.response["Item"] == {"pk": {"S": "a"}}
    assert len(peer.requests) == 1


def test_a_deleted_message_has_an_empty_reply() -> None:
    with a_client(reply(b""), service="sqs") as (client, _):
        assert client.delete_message(QueueUrl="q", ReceiptHandle="r")["ResponseMetadata"]["HTTPStatusCode"] == 200


# --- retries ---------------------------------------------------------------------------------------------------------


def test_every_code_that_botocore_tries_again_is_transient() -> None:
    theirs: Any = standard
    checkers = (
        theirs.ThrottledRetryableChecker._THROTTLED_ERROR_CODES,
        theirs.TransientRetryableChecker._TRANSIENT_ERROR_CODES,
    )
    assert {code for codes in checkers for code in codes} <= TRANSIENT


@pytest.mark.parametrize(
    "failure",
    [
        error("ProvisionedThroughputExceededException"),
        error("ThrottlingException"),
        error("RequestThrottled"),
        error("InternalServerError", 500),
        reply(b"", 502),
        reply(b"<html>busy</html>", 503),
        reply(b"", 504),
    ],
)
def test_what_may_pass_is_tried_three_times_with_growing_pauses(
    monkeypatch: pytest.MonkeyPatch, failure: bytes
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("random.uniform", lambda least, most: (least + most) / 2)
    with a_client(failure, failure, reply(), *[failure] * ATTEMPTS, pauses=pauses.append) as (client, peer):
        get(client)
        assert (pauses, len(peer.requests)) == ([0.5, 1.0], ATTEMPTS)
        assert_unavailable(client)
    assert len(peer.requests) == 2 * ATTEMPTS
    assert peer.connections == 1


@pytest.mark.parametrize("code", ["ValidationException", "AccessDeniedException", "ConditionalCheckFailedException"])
def test_what_will_not_pass_is_not_tried_again(code: str) -> None:
    with a_client(error(code)) as (client, peer), pytest.raises(ErrorReply, match=code):
        get(client)
    assert len(peer.requests) == 1


def test_a_service_that_is_down_gets_no_more_retries_until_it_answers() -> None:
    down = [error("InternalServerError", 500)] * 151
    with a_client(*down, *[reply()] * 5, *down) as (client, peer):

        def requests_of_a_call() -> int:
            before = len(peer.requests)
            with pytest.raises(ErrorReply):
                get(client)
            return len(peer.requests) - before

        assert [requests_of_a_call() for _ in range(51)] == [3] * 50 + [1]
        for _ in range(5):
            get(client)
        assert [requests_of_a_call() for _ in range(2)] == [2, 1]


# --- connections -----------------------------------------------------------------------------------------------------


def test_a_connection_is_used_again() -> None:
    with a_client(*[reply()] * 5) as (client, peer):
        for _ in range(5):
            get(client)
    assert peer.connections == 1


BROKEN = {
    "closed without a reply": closing(),
    "closed in the head": closing(b"HTTP/1.1 200 OK\r\ncontent-le"),
    "closed in the body": closing(reply({"Item": {}}, content_length="1000")),
    "closed in a body without a length": closing(b'HTTP/1.1 200 OK\r\n\r\n{"Item":'),
    "not HTTP": closing(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "empty": reply(b""),
    "not JSON": reply(b"<html></html>"),
    "not an object": reply(b"[]"),
    "another checksum": reply({"Item": {}}, x_amz_crc32="1"),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_reply_is_asked_for_again_at_once_on_a_fresh_connection(broken: Any) -> None:
    pauses: list[float] = []
    with a_client(reply(), broken, reply({"Item": {"n": {"N": "1"}}}), pauses=pauses.append) as (client, peer):
        get(client)
        assert get(client)["Item"] == {"n": {"N": "1"}}
    assert (pauses, len(peer.requests), peer.connections) == ([0], 3, 2)


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_replies_that_stay_broken_are_no_reply(broken: Any) -> None:
    pauses: list[float] = []
    with a_client(*[broken] * ATTEMPTS, pauses=pauses.append) as (client, peer):
        assert_unavailable(client)
    assert len(peer.requests) == ATTEMPTS
    assert 0 == pauses[0] < pauses[1] <= 2


def test_after_a_freeze_none_of_the_idle_connections_is_used() -> None:
    both_are_open = threading.Barrier(2)

    def wait(connection: Any) -> bool:
        both_are_open.wait(10)
        connection.sendall(reply())
        return True

    with a_client(wait, wait, closing(), reply()) as (client, peer), ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: get(client), range(2)))
        get(client)
    assert peer.connections == 3


def test_a_checksum_and_a_body_without_a_length_are_understood() -> None:
    body = b'{"Item": {}}'
    without_length = b"HTTP/1.1 200 OK\r\n\r\n" + body
    checked = reply(body, x_amz_crc32=str(zlib.crc32(body)))
    with a_client(closing(without_length), checked) as (client, peer):
        assert [get(client)["Item"] for _ in range(2)] == [{}, {}]
    assert len(peer.requests) == 2


def test_a_peer_that_does_not_answer_is_no_reply_and_costs_more_of_the_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lean, "READ_SECONDS", 0.02)
    over = threading.Event()

    def hang(connection: Any) -> bool:
        over.wait(10)
        return False

    with a_client(*[hang] * ATTEMPTS) as (client, peer):
        with pytest.raises(NoReply, match="timed out"):
            get(client)
        over.set()
        assert client._quota._left == 500 - 2 * 10
    assert len(peer.requests) == ATTEMPTS


def test_nobody_who_listens_is_no_reply() -> None:
    pauses: list[float] = []
    with a_client() as (_, peer):
        pass
    client: Any = LeanClient("dynamodb", {**ENVIRONMENT, "AWS_ENDPOINT_URL": peer.url}, (), pauses.append)
    with pytest.raises(NoReply):
        get(client)
    assert len(pauses) == ATTEMPTS - 1
    assert min(pauses) > 0


def test_a_receiver_waits_as_long_as_it_said_and_then_for_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lean, "READ_SECONDS", 0.1)

    def late(connection: Any) -> bool:
        time.sleep(0.3)
        connection.sendall(reply())
        return True

    with a_client(late, service="sqs") as (client, peer):
        client.receive_message(QueueUrl="q", WaitTimeSeconds=2)
    assert len(peer.requests) == 1


# --- TLS -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "trusted", "works"), [("localhost", True, True), ("localhost", False, False), ("127.0.0.1", True, False)]
)
def test_a_certificate_must_be_trusted_and_of_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, trusted: bool, works: bool
) -> None:
    openssl = shutil.which("openssl")
    assert openssl, "this test makes a certificate with the openssl command"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem"]
    command = [openssl, "req", "-x509", *key, *names, "-out", "cert.pem"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    lean._tls.cache_clear()
    with a_peer(sending(http_reply(200, b"{}")), tls) as peer:
        environment = {**ENVIRONMENT, "AWS_ENDPOINT_URL": f"https://{host}:{peer.port}"}
        client: Any = LeanClient("dynamodb", environment, (), lambda _: None)
        try:
            get(client)
        except NoReply:
            assert not works
            assert not peer.heads, "nothing was sent"
        else:
            assert works
        client.close()
    lean._tls.cache_clear()


# --- the clock -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["InvalidSignatureException", "RequestTimeTooSkewed", "SignatureDoesNotMatch"])
def test_a_clock_that_is_off_is_corrected_by_the_date_of_the_reply(code: str) -> None:
    pauses: list[float] = []
    far = datetime.now(UTC) + timedelta(hours=1)
    with a_client(error(code, 403, **dated(far)), reply(), reply(), pauses=pauses.append) as (client, peer):
        get(client)
        get(client)
    dates = [datetime.strptime(r.headers["x-amz-date"], "%Y%m%dT%H%M%S%z") for r in peer.requests]
    assert pauses == [0]
    assert [date > far - timedelta(minutes=1) for date in dates] == [False, True, True]


@pytest.mark.parametrize(
    ("code", "headers"),
    [
        ("InvalidSignatureException", dated(datetime.now(UTC))),
        ("InvalidSignatureException", {}),
        ("InvalidSignatureException", {"date": "yesterday"}),
        ("ValidationException", dated(datetime.now(UTC) + timedelta(hours=1))),
    ],
)
def test_a_refusal_for_another_reason_leaves_the_clock_alone(code: str, headers: dict[str, str]) -> None:
    with a_client(error(code, **headers)) as (client, peer), pytest.raises(ErrorReply):
        get(client)
    assert len(peer.requests) == 1


# --- watchers --------------------------------------------------------------------------------------------------------


def test_watchers_see_the_last_reply_of_each_call() -> None:
    seen: list[tuple[int, Any]] = []
    throttled: Any = Mock()
    refused = reply({"Responses": [{}, {"Error": {"Code": "ThrottlingError"}}]})
    watchers = [throttle_counter(throttled), lambda sent_at, shown: seen.append((sent_at, shown))]
    answers = [error("ThrottlingException"), reply({"Item": {}}), *[error("ThrottlingException")] * ATTEMPTS, refused]
    before = time.time() * 1000 - 1
    with a_client(*answers, watchers=watchers) as (client, _):
        get(client)
        with pytest.raises(ErrorReply):
            get(client)
        client.batch_execute_statement(Statements=[])
    assert [next(iter(shown)) for _, shown in seen] == ["Item", "__type", "Responses"]
    assert all(before <= sent_at <= time.time() * 1000 for sent_at, _ in seen)
    assert throttled.add.call_args_list == [call("throttled", 1)] * 2
