"""Functions that fail, and a Lambda that throttles, refuses and sends garbage, played by a peer."""

import json

import pytest

from onthedot.core.ports import Answer
from onthedot.targets.types import LambdaTarget
from tests.contract.kits.aws_target_kit import a_call_of, an_invoker, answered_by_lambda
from tests.unit.targets.http.peer import a_peer, hanging, reply, sending


def an_error(status: int, code: str, message: str = "because", headers: dict[str, str] | None = None) -> bytes:
    body = json.dumps({"Type": "User", "Message": message}).encode()
    return reply(status, body, {"x-amzn-ErrorType": code, "Content-Type": "application/json"} | (headers or {}))


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (429, "TooManyRequestsException"),
        (500, "ServiceException"),
        (502, "EC2ThrottledException"),
        (409, "ResourceConflictException"),
        (400, "ThrottlingException"),
        (403, "ExpiredTokenException"),
    ],
)
def test_errors_about_the_moment_are_tried_again(status: int, code: str) -> None:
    assert answered_by_lambda(an_error(status, code)) == Answer(ok=False, error=f"{code}: because", error_class=code)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (403, "AccessDeniedException"),
        (400, "InvalidRequestContentException"),
        (413, "RequestTooLargeException"),
        (404, "ResourceNotFoundException"),
    ],
)
def test_errors_about_the_call_are_final(status: int, code: str) -> None:
    assert answered_by_lambda(an_error(status, code)) == Answer(
        ok=False, error=f"{code}: because", error_class=code, retryable=False
    )


def test_a_throttle_is_not_called_twice_and_its_retry_after_is_honoured() -> None:
    with a_peer(sending(an_error(429, "TooManyRequestsException", headers={"Retry-After": "7"}))) as peer:
        answer = an_invoker(f"http://127.0.0.1:{peer.port}", "*").perform(a_call_of(LambdaTarget("busy")))
        assert (answer.retry_after_ms, peer.connections) == (7000, 1)


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


@pytest.mark.parametrize("content", [b"", b"SSH-2.0-OpenSSH_9.6\r\n", reply(200, b"half", {"Content-Length": "100"})])
def test_a_connection_that_breaks_is_tried_again(content: bytes) -> None:
    answer = answered_by_lambda(content)
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "connection")


@pytest.mark.parametrize("body", [b"\xff\x00", b"[1]", b"", b"<a>", b'{"Type": 5, "Message": [1]}'])
@pytest.mark.parametrize("status", [302, 400, 500])
def test_nothing_that_lambda_sends_raises(status: int, body: bytes) -> None:
    assert not answered_by_lambda(reply(status, body)).ok


def test_an_endpoint_that_is_not_there_is_tried_again() -> None:
    with a_peer(hanging) as peer:
        pass
    answer = an_invoker(f"http://127.0.0.1:{peer.port}", "*").perform(a_call_of(LambdaTarget("gone")))
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "connection")
