"""AWS APIs and functions that throttle, refuse, fail, hang and send garbage, played by a peer that answers like AWS."""

import json
import time
from typing import Any

import pytest

from onthedot.core.ports import Answer
from onthedot.core.stopping import Stop
from onthedot.targets.types import AwsTarget, LambdaTarget
from tests.contract.kits.aws_target_kit import a_caller, an_invoker, answered_by_aws, answered_by_lambda
from tests.unit.targets.http.peer import Peer, Script, a_peer, hanging, reply, sending
from tests.unit.targets.kit import a_call_of

BROKEN = [b"", b"SSH-2.0-OpenSSH_9.6\r\n", reply(200, b"{}", {"Content-Length": "100"})]
PERFORMERS = ["aws", "lambda"]


def an_error(performer: str, status: int, code: str, **headers: str) -> bytes:
    if performer == "aws":
        body = {"__type": f"com.amazonaws.sqs#{code}", "message": "because"}
        return reply(status, json.dumps(body).encode(), headers)
    about = {"x-amzn-ErrorType": code, "Content-Type": "application/json"}
    return reply(status, json.dumps({"Type": "User", "Message": "because"}).encode(), about | headers)


def called(performer: str, script: Script, **call: Any) -> tuple[Answer, int]:
    """Return the answer of a call whose peer plays this script, and how often the peer was called."""
    with a_peer(script) as peer:
        url = f"http://127.0.0.1:{peer.port}"
        if performer == "aws":
            target, caller = AwsTarget("sqs", "ListQueues"), a_caller(url, ("sqs", "ListQueues"))
            return caller.perform(a_call_of(target, **call)), peer.connections
        return an_invoker(url, "*").perform(a_call_of(LambdaTarget("anything"), **call)), peer.connections


@pytest.mark.parametrize(
    ("performer", "status", "code"),
    [
        ("aws", 400, "ThrottlingException"),
        ("aws", 500, "InternalError"),
        ("aws", 429, "New"),
        ("lambda", 502, "EC2ThrottledException"),
        ("lambda", 409, "ResourceConflictException"),
        ("lambda", 403, "ExpiredTokenException"),
    ],
)
def test_errors_about_the_moment_are_tried_again_by_the_run_alone(performer: str, status: int, code: str) -> None:
    answer = Answer(ok=False, error=f"{code}: because", error_class=code)
    assert called(performer, sending(an_error(performer, status, code))) == (answer, 1)


@pytest.mark.parametrize(
    ("performer", "status", "code"),
    [
        ("aws", 403, "AccessDeniedException"),
        ("aws", 409, "Conflict"),
        ("lambda", 413, "RequestTooLargeException"),
        ("lambda", 404, "ResourceNotFoundException"),
    ],
)
def test_errors_about_the_call_are_final(performer: str, status: int, code: str) -> None:
    answer, _ = called(performer, sending(an_error(performer, status, code)))
    assert answer == Answer(ok=False, error=f"{code}: because", error_class=code, retryable=False)


def test_the_retry_after_of_a_throttle_is_honoured() -> None:
    throttle = an_error("lambda", 429, "TooManyRequestsException", **{"Retry-After": "7"})
    assert answered_by_lambda(throttle).retry_after_ms == 7000


@pytest.mark.parametrize("performer", PERFORMERS)
@pytest.mark.parametrize("content", BROKEN)
def test_a_connection_that_breaks_is_tried_again(performer: str, content: bytes) -> None:
    answer, _ = called(performer, sending(content))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "connection")


def test_an_endpoint_that_is_not_there_is_tried_again() -> None:
    with a_peer(hanging) as peer:
        pass
    answer = an_invoker(f"http://127.0.0.1:{peer.port}", "*").perform(a_call_of(LambdaTarget("gone")))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "connection")


@pytest.mark.parametrize("status", [200, 503])
@pytest.mark.parametrize(
    ("service", "action", "body"),
    [("sqs", "ListQueues", b"\xff\x00"), ("sqs", "ListQueues", b"[1]"), ("sns", "ListTopics", b"<a>")],
)
def test_a_reply_that_is_garbage_is_tried_again(service: str, action: str, body: bytes, status: int) -> None:
    answer = answered_by_aws(reply(status, body), service, action)
    assert (answer.ok, answer.error_class, answer.retryable) == (False, "protocol", True)


def test_an_error_without_a_code_has_the_class_of_its_status() -> None:
    assert answered_by_aws(reply(503, b"")).error_class == "http_503"
    final = Answer(ok=False, error="400: what?", error_class="http_400", retryable=False)
    assert answered_by_aws(reply(400, b"what?")) == final


@pytest.mark.parametrize("body", [b"\xff\x00", b"[1]", b"", b"<a>", b'{"__type": 5, "message": [1], "Functions": 7}'])
@pytest.mark.parametrize("status", [200, 302, 500])
@pytest.mark.parametrize(
    "call", [("sqs", "ListQueues"), ("s3", "ListBuckets"), ("sns", "ListTopics"), ("ec2", "DescribeInstances"), None]
)
def test_nothing_that_a_service_sends_raises(call: tuple[str, str] | None, status: int, body: bytes) -> None:
    answer = answered_by_aws(reply(status, body), *call) if call else answered_by_lambda(reply(status, body))
    assert isinstance(answer, Answer)


@pytest.mark.parametrize(
    ("body", "error", "error_class"),
    [
        (b'{"errorMessage": "no more hats", "errorType": "OutOfStock"}', "no more hats", "OutOfStock"),
        (b'{"errorMessage": "RequestId: x Error: signal: killed"}', "RequestId: x Error: signal: killed", "Unhandled"),
        (b'"just text"', '"just text"', "Unhandled"),
        (b"\xff\x00{", "�?{", "Unhandled"),
        (b"", "the function failed without a message", "Unhandled"),
    ],
)
def test_whatever_a_function_raises_there_is_a_message(body: bytes, error: str, error_class: str) -> None:
    content = reply(200, body, {"X-Amz-Function-Error": "Unhandled"})
    assert answered_by_lambda(content) == Answer(ok=False, error=error, error_class=error_class)


def test_a_service_that_takes_its_time_does_not_get_more_than_the_timeout() -> None:
    began = time.monotonic()
    answer, _ = called("aws", hanging, timeout_ms=700)
    error = "timed out after 700 ms while waiting for sqs ListQueues"
    assert answer == Answer(ok=False, error=error, error_class="timeout")
    assert 0.69 < time.monotonic() - began < 30


@pytest.mark.parametrize("performer", PERFORMERS)
def test_a_call_ends_soon_when_asked(performer: str) -> None:
    stop = Stop()

    def asking(connection: object, peer: Peer) -> None:
        stop.ask("cancelled")
        peer.over.wait()

    began = time.monotonic()
    answer, _ = called(performer, asking, timeout_ms=60_000, stop=stop)
    assert answer == Answer(ok=False, error="stopped: cancelled", error_class="stopped")
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("performer", PERFORMERS)
def test_a_call_that_is_already_to_stop_is_not_made(performer: str) -> None:
    stop = Stop()
    stop.ask("cancelled")
    answer, connections = called(performer, hanging, stop=stop)
    assert (answer.error_class, connections) == ("stopped", 0)
