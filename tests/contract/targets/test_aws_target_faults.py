"""AWS APIs that throttle, refuse, hang and send garbage, played by a peer that answers like AWS."""

import json
import time

import pytest

from onthedot.core.ports import Answer
from onthedot.core.stopping import Stop
from onthedot.targets.types import AwsTarget
from tests.contract.kits.aws_target_kit import a_call_of, a_caller, answered_by_aws, performed, refused
from tests.unit.targets.http.peer import Peer, a_peer, hanging, reply, sending


def an_error(status: int, code: str) -> bytes:
    return reply(status, json.dumps({"__type": f"com.amazonaws.sqs#{code}", "message": "because"}).encode())


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, "ThrottlingException"), (400, "RequestThrottled"), (503, "SlowDown"), (500, "InternalError"), (429, "New")],
)
def test_throttles_and_failures_of_the_service_are_tried_again_by_the_run_alone(status: int, code: str) -> None:
    with a_peer(sending(an_error(status, code))) as peer:
        answer = performed(f"http://127.0.0.1:{peer.port}", AwsTarget("sqs", "ListQueues"))
        assert peer.connections == 1
    assert answer == Answer(ok=False, error=f"{code}: because", error_class=code)


@pytest.mark.parametrize(
    ("status", "code"),
    [(403, "AccessDeniedException"), (400, "ValidationException"), (404, "QueueDoesNotExist"), (409, "Conflict")],
)
def test_errors_about_the_call_are_final(status: int, code: str) -> None:
    assert refused(answered_by_aws(an_error(status, code)), code) == f"{code}: because"


@pytest.mark.parametrize("content", [b"", b"SSH-2.0-OpenSSH_9.6\r\n", reply(200, b"{}", {"Content-Length": "100"})])
def test_a_connection_that_breaks_is_tried_again(content: bytes) -> None:
    answer = answered_by_aws(content)
    assert (answer.ok, answer.retryable, answer.error_class) == (False, True, "connection")


@pytest.mark.parametrize("status", [200, 400, 503])
@pytest.mark.parametrize(
    ("service", "action", "body"),
    [
        ("sqs", "ListQueues", b"\xff\x00"),
        ("sqs", "ListQueues", b"[1]"),
        ("sqs", "ListQueues", b'"text"'),
        ("sns", "ListTopics", b"\xff\x00"),
        ("sns", "ListTopics", b"<a>"),
        ("lambda", "ListFunctions", b"5"),
    ],
)
def test_a_reply_that_is_garbage_is_tried_again(service: str, action: str, body: bytes, status: int) -> None:
    answer = answered_by_aws(reply(status, body), service, action)
    assert (answer.ok, answer.error_class, answer.retryable) == (False, "protocol", True)


def test_an_error_without_a_code_has_the_class_of_its_status() -> None:
    assert answered_by_aws(reply(503, b"")).error_class == "http_503"
    assert answered_by_aws(reply(400, b"what?")) == Answer(
        ok=False, error="400: what?", error_class="http_400", retryable=False
    )


@pytest.mark.parametrize(
    "body", [b"\xff\x00", b"[1]", b"no json", b"", b"<a>", b"5", b'{"__type": 5, "message": [1], "Functions": 7}']
)
@pytest.mark.parametrize("status", [200, 204, 302, 400, 500])
@pytest.mark.parametrize(
    "call", [("sqs", "ListQueues"), ("s3", "ListBuckets"), ("sns", "ListTopics"), ("ec2", "DescribeInstances")]
)
def test_nothing_that_a_service_sends_raises(call: tuple[str, str], status: int, body: bytes) -> None:
    assert isinstance(answered_by_aws(reply(status, body), *call), Answer)


def test_a_service_that_takes_its_time_does_not_get_more_than_the_timeout() -> None:
    with a_peer(hanging) as peer:
        began = time.monotonic()
        call = a_call_of(AwsTarget("sqs", "ListQueues"), timeout_ms=700)
        answer = a_caller(f"http://127.0.0.1:{peer.port}", ("sqs", "ListQueues")).perform(call)
    error = "timed out after 700 ms while waiting for sqs ListQueues"
    assert answer == Answer(ok=False, error=error, error_class="timeout")
    assert 0.69 < time.monotonic() - began < 30


def test_a_call_ends_soon_when_asked() -> None:
    stop = Stop()

    def asking(connection: object, peer: Peer) -> None:
        stop.ask("cancelled")
        peer.over.wait()

    with a_peer(asking) as peer:
        began = time.monotonic()
        call = a_call_of(AwsTarget("sqs", "ListQueues"), timeout_ms=60_000, stop=stop)
        answer = a_caller(f"http://127.0.0.1:{peer.port}", ("sqs", "ListQueues")).perform(call)
    assert answer == Answer(ok=False, error="stopped: cancelled", error_class="stopped")
    assert time.monotonic() - began < 30
