"""Functions as targets, on MiniStack. A peer that answers like Lambda stands in where MiniStack cannot."""

import base64
import io
import json
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from onthedot.core.ports import RESULT_BYTES, Answer
from onthedot.core.stopping import Stop
from onthedot.targets.types import LambdaTarget
from tests.contract.kits.aws_target_kit import an_invoker, clients_at
from tests.contract.kits.ministack_kit import Clients
from tests.unit.targets.http.peer import a_peer, reply, sending
from tests.unit.targets.kit import a_call_of

CODE = """
import time

class OutOfStock(Exception):
    pass

def handle(event, context):
    wish = event.get("wish") if isinstance(event, dict) else None
    if wish == "fail":
        raise OutOfStock("no more hats")
    if wish == "sleep":
        time.sleep(event["seconds"])
    if wish == "a lot":
        return "é" * event["letters"]
    return {"got": event}
"""
FUNCTION = "target-contract"


@pytest.fixture(scope="module")
def endpoint(ministack: Clients) -> Iterator[str]:
    """Return an endpoint with a function that behaves as its event says."""
    url = ministack.sqs.meta.endpoint_url
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as files:
        files.writestr("handler.py", CODE)
    client = clients_at(url)("lambda", 30)
    client.create_function(
        FunctionName=FUNCTION,
        Runtime="python3.13",
        Handler="handler.handle",
        Role="arn:aws:iam::000000000000:role/none",
        Code={"ZipFile": archive.getvalue()},
        Timeout=20,
    )
    yield url
    client.delete_function(FunctionName=FUNCTION)


def performed(endpoint: str, event: Any, timeout_ms: int = 20_000, stop: Stop | None = None) -> Answer:
    call = a_call_of(LambdaTarget(FUNCTION), json.dumps(event).encode(), timeout_ms, stop)
    return an_invoker(endpoint, FUNCTION).perform(call)


def test_a_function_gets_the_payload_and_what_it_returns_is_the_result(endpoint: str) -> None:
    answer = performed(endpoint, {"a": [1, "é"]})
    assert (answer.ok, json.loads(answer.result or "")) == (True, {"got": {"a": [1, "é"]}})


@pytest.mark.parametrize("event", [None, [1, 2], "text", 5])
def test_a_payload_is_any_json(endpoint: str, event: Any) -> None:
    assert performed(endpoint, event).ok


def test_a_function_that_raises_has_failed_and_may_be_tried_again(endpoint: str) -> None:
    answer = performed(endpoint, {"wish": "fail"})
    assert (answer.ok, answer.retryable, answer.error) == (False, True, "no more hats")
    assert answer.error_class  # MiniStack has one class for all. A test below checks that it is the exception's


def test_a_long_result_is_cut(endpoint: str) -> None:
    result = performed(endpoint, {"wish": "a lot", "letters": RESULT_BYTES}).result or ""
    assert RESULT_BYTES - 8 < len(result.encode()) <= RESULT_BYTES


def test_a_function_that_takes_its_time_does_not_get_more_than_the_timeout(endpoint: str) -> None:
    performed(endpoint, None)  # so that the function is running already
    began = time.monotonic()
    answer = performed(endpoint, {"wish": "sleep", "seconds": 6}, timeout_ms=500)
    error = "timed out after 500 ms while waiting for the function"
    assert answer == Answer(ok=False, error=error, error_class="timeout")
    assert 0.49 < time.monotonic() - began < 5.5


def test_a_function_that_the_stage_does_not_allow_is_not_called() -> None:
    with a_peer(sending(reply())) as peer:
        answer = an_invoker(f"http://127.0.0.1:{peer.port}", "mine-*").perform(a_call_of(LambdaTarget("yours-1")))
        assert peer.connections == 0
    assert (answer.error_class, answer.retryable) == ("not_allowed", False)
    assert "function yours-1 is not among the functions that this stage allows" in (answer.error or "")


def test_a_function_that_does_not_exist_is_not_tried_again(endpoint: str) -> None:
    answer = an_invoker(endpoint, "*").perform(a_call_of(LambdaTarget("never-made")))
    assert (answer.error_class, answer.retryable) == ("ResourceNotFoundException", False)
    assert "never-made" in (answer.error or "")


def test_the_function_is_told_which_run_this_is() -> None:
    with a_peer(sending(reply(200, b"null"))) as peer:
        invoker = an_invoker(f"http://127.0.0.1:{peer.port}", "told")
        call = replace(a_call_of(LambdaTarget("told"), b'{"a": 1}'), traceparent="00-trace-span-01")
        assert invoker.perform(call) == Answer(ok=True, result="null")
    assert peer.asked == ["POST /2015-03-31/functions/told/invocations"]
    assert (peer.bodies, peer.headers["x-amz-invocation-type"]) == ([b'{"a": 1}'], "RequestResponse")
    assert json.loads(base64.b64decode(peer.headers["x-amz-client-context"])) == {
        "custom": {
            "run": "run-7",
            "job": "job-3",
            "attempt": "2",
            "idempotency_key": "run-7",
            "fire_time": "2026-01-01T00:00:00.123Z",
            "traceparent": "00-trace-span-01",
        }
    }
