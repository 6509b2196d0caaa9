"""Each type of target in each home: a success, its time-out, its refusal, and garbage."""

import base64
import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import urllib3

from tests.e2e.deployment import Deployment
from tests.e2e.functions import new_function, new_role
from tests.e2e.homes import EQUIPPED, STACK, Api, Home
from tests.e2e.listener import Listener
from tests.unit.targets.grpc.peer import a_peer, noting, thanks

ONCE = {"max_retries": 0}


def ended(api: Api, status: str, seconds: float = 30, **job: Any) -> dict[str, Any]:
    """The execution of a job that is run now, once it ended so."""
    submitted = api.submit(**{"retry": ONCE, **job})
    api.wait_for(submitted["job_id"], status, seconds)
    code, view = api.call("GET", f"/v1/executions/{submitted['job_id']}")
    assert code == 200
    return dict(view)


def error_class(run: dict[str, Any]) -> str | None:
    return str(run["attempts"][-1]["error_class"])


def refused(api: Api, **job: Any) -> list[str]:
    """The fields that are named when the job is refused."""
    status, answer = api.call("POST", "/v1/jobs", job)
    assert status == 422, answer
    return [problem["field"] for problem in answer["error"]["details"]]


def whole(home: Home, content: str, link: str | None) -> bytes:
    """A large result or payload. The stack answers with a link to S3, and a server with the content itself."""
    if home.name != STACK:
        assert link is None
        return content.encode()
    assert link is not None
    reply = urllib3.request("GET", link, retries=False)
    assert reply.status == 200
    return reply.data


@contextmanager
def a_babbler() -> Iterator[int]:
    """A peer that answers everything with noise; its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def babble() -> None:
            while True:
                try:
                    peer, _ = server.accept()
                except OSError:
                    return
                with peer:
                    peer.recv(1024)
                    peer.sendall(b"\x00\xff garbage \r\n\r\n" * 5)

        threading.Thread(target=babble, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


# --- http


def test_http_is_signed_and_its_answer_is_the_result(api: Api, listener: Listener) -> None:
    run = ended(api, "SUCCEEDED", callback_url=f"{listener.url}/signed", payload={"n": 1})
    assert run["result"] == "thank you"
    arrival = listener.wait_for("/signed")[0]
    status, answer = api.call("GET", "/v1/signing-keys")
    assert status == 200
    headers = arrival.headers
    key = base64.b64decode(answer["keys"][0]["secret"].removeprefix("whsec_"))
    content = b".".join([headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), arrival.body])
    expected = "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    assert expected in headers["webhook-signature"].split(" ")


def test_http_time_out_refusal_and_garbage(api: Api, listener: Listener) -> None:
    run = ended(api, "FAILED", callback_url=f"{listener.url}/slow?hang=5", timeout_seconds=1)
    assert error_class(run) == "timeout"
    run = ended(api, "FAILED", callback_url="http://169.254.169.254/latest/meta-data")
    assert error_class(run) == "refused_address"
    with a_babbler() as port:
        run = ended(api, "FAILED", callback_url=f"http://127.0.0.1:{port}/")
    assert error_class(run) == "protocol"


# --- lambda

FUNCTION = "e2e-function"
CODE = """
import time

def handle(event, context):
    if event.get("nap"):
        time.sleep(event["nap"])
    if event.get("fail"):
        raise ValueError("as asked")
    return {"seen": event, "run": context.client_context.custom.get("run") if context.client_context else None}
"""


@pytest.fixture(scope="module")
def function(deployment: Deployment) -> Iterator[str]:
    new_function(deployment.client, FUNCTION, CODE, new_role(deployment.client, FUNCTION), Timeout=20)
    yield FUNCTION
    deployment.client("lambda").delete_function(FunctionName=FUNCTION)


def test_lambda_is_called_and_waited_for(api: Api, function: str) -> None:
    run = ended(api, "SUCCEEDED", target={"type": "lambda", "function": function}, payload={"n": 1})
    assert json.loads(run["result"])["seen"] == {"n": 1}


def test_lambda_time_out_refusal_and_garbage(api: Api, function: str) -> None:
    target = {"type": "lambda", "function": function}
    run = ended(api, "FAILED", target=target, payload={"nap": 5}, timeout_seconds=1)
    assert error_class(run) == "timeout"
    run = ended(api, "FAILED", target=target, payload={"fail": True})
    assert "as asked" in run["error"]
    run = ended(api, "FAILED", target={"type": "lambda", "function": "no-such-function"})
    assert error_class(run) == "ResourceNotFoundException"
    run = ended(api, "FAILED", target=target, payload=["not", "an", "object"])
    assert "has no attribute" in run["error"]
    assert refused(api, target={"type": "lambda", "function": "not a name!"}) == ["target.function"]


# --- aws


def test_an_aws_call_is_made_once_with_the_given_input(api: Api, deployment: Deployment) -> None:
    queue = deployment.client("sqs").create_queue(QueueName="e2e-aws-target")["QueueUrl"]
    call = {"QueueUrl": queue, "MessageBody": "from a job"}
    target = {"type": "aws", "service": "sqs", "action": "SendMessage", "input": call}
    run = ended(api, "SUCCEEDED", target=target)
    received = deployment.client("sqs").receive_message(QueueUrl=queue)["Messages"][0]
    assert (received["Body"], received["MessageId"]) == ("from a job", json.loads(run["result"])["MessageId"])


def test_aws_time_out_refusal_and_garbage(api: Api, deployment: Deployment) -> None:
    empty = deployment.client("sqs").create_queue(QueueName="e2e-empty")["QueueUrl"]
    long_poll = {"QueueUrl": empty, "WaitTimeSeconds": 10}
    target = {"type": "aws", "service": "sqs", "action": "ReceiveMessage", "input": long_poll}
    assert error_class(ended(api, "FAILED", target=target, timeout_seconds=1)) == "timeout"
    missing = {"QueueUrl": "http://localhost/000000000000/no-such-queue", "MessageBody": "x"}
    run = ended(api, "FAILED", target={"type": "aws", "service": "sqs", "action": "SendMessage", "input": missing})
    assert "NonExistentQueue" in (error_class(run) or "") or "QueueDoesNotExist" in (error_class(run) or "")
    run = ended(
        api, "FAILED", target={"type": "aws", "service": "sqs", "action": "SendMessage", "input": {"Nonsense": 1}}
    )
    assert error_class(run) == "bad_input"
    assert refused(api, target={"type": "aws", "service": "iam", "action": "CreateUser", "input": {}}) == [
        "target.action"
    ]


# --- grpc

PLACE = "shop.Orders/Place"


def test_grpc_is_called_by_reflection(api: Api) -> None:
    with a_peer(thanks) as peer:
        target = {"type": "grpc", "address": peer.address, "method": PLACE}
        run = ended(api, "SUCCEEDED", target=target, payload={"orderId": "o-1"})
    assert json.loads(run["result"])


def sleeping(order: Any, context: Any) -> bytes:
    time.sleep(3)
    return thanks(order, context)


def test_grpc_time_out_refusal_and_garbage(api: Api) -> None:
    with a_peer(sleeping) as peer:
        target = {"type": "grpc", "address": peer.address, "method": PLACE}
        run = ended(api, "FAILED", target=target, payload={"orderId": "o-1"}, timeout_seconds=1)
        assert error_class(run) == "timeout"
    with a_peer(noting("never asked for")) as peer:
        target = {"type": "grpc", "address": peer.address, "method": PLACE}
        run = ended(api, "FAILED", target=target, payload={"noSuchField": 1})
        assert error_class(run) == "bad_request"
        run = ended(api, "FAILED", target={**target, "method": "shop.Orders/Nothing"})
        assert error_class(run) == "unknown_method"
    with a_babbler() as port:
        target = {"type": "grpc", "address": f"127.0.0.1:{port}", "method": "a.B/C"}
        run = ended(api, "FAILED", target=target, timeout_seconds=3)
        assert error_class(run) in ("timeout", "grpc_UNAVAILABLE", "grpc_INTERNAL")
    run = ended(api, "FAILED", target={"type": "grpc", "address": "169.254.169.254:80", "method": "a.B/C"})
    assert error_class(run) == "refused_address"
    assert refused(api, target={"type": "grpc", "address": "nowhere", "method": "a.B/C"}) == ["target.address"]


# --- shell


@pytest.mark.usefixtures("able_home")
def test_shell_gets_the_payload_and_no_credentials(api: Api) -> None:
    run = ended(api, "SUCCEEDED", target={"type": "shell", "argv": ["cat"]}, payload={"n": 1})
    assert json.loads(run["result"]) == {"n": 1}
    run = ended(api, "SUCCEEDED", target={"type": "shell", "argv": ["env"]})
    names = {line.partition("=")[0] for line in run["result"].splitlines()}
    assert {"ONTHEDOT_RUN", "PATH"} <= names
    assert not names & {"ONTHEDOT_TOKEN", "ONTHEDOT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}


@pytest.mark.usefixtures("able_home")
def test_shell_time_out_refusal_and_garbage(api: Api) -> None:
    run = ended(api, "FAILED", target={"type": "shell", "argv": ["sleep", "30"]}, timeout_seconds=1)
    assert error_class(run) == "timeout"
    run = ended(api, "FAILED", target={"type": "shell", "argv": ["sh", "-c", "echo token=abcdef123 >&2; exit 3"]})
    assert (error_class(run), "abcdef123" in run["error"]) == ("exit_3", False)
    run = ended(api, "FAILED", target={"type": "shell", "argv": ["/no/such/program"]})
    assert error_class(run) == "not_found"
    run = ended(api, "SUCCEEDED", target={"type": "shell", "argv": ["head", "-c", "300", "/dev/urandom"]})
    assert run["result"], "noise is kept as text"
    assert refused(api, target={"type": "shell", "argv": []}) == ["target.argv"]


# --- python


@pytest.mark.usefixtures("able_home")
def test_python_handlers_run_and_a_large_result_is_whole(home: Home, api: Api) -> None:
    run = ended(api, "SUCCEEDED", target={"type": "python", "handler": "echo"}, payload={"n": 1})
    assert json.loads(run["result"])["payload"] == {"n": 1}
    assert run["result_url"] is None
    run = ended(api, "SUCCEEDED", target={"type": "python", "handler": "large"}, payload=200_000)
    assert whole(home, run["result"], run["result_url"]) == json.dumps("x" * 200_000).encode()


@pytest.mark.usefixtures("able_home")
def test_python_time_out_refusal_and_garbage(api: Api) -> None:
    run = ended(api, "FAILED", target={"type": "python", "handler": "nap"}, payload=30, timeout_seconds=1)
    assert error_class(run) == "timeout"
    run = ended(api, "FAILED", target={"type": "python", "handler": "refuse"}, retry={"max_retries": 3})
    assert (error_class(run), len(run["attempts"])) == ("NonRetryable", 1)
    run = ended(api, "FAILED", target={"type": "python", "handler": "garbage"})
    assert error_class(run) == "bad_result"


@pytest.mark.usefixtures("able_home")
def test_each_attempt_is_on_record_without_its_secrets(home: Home, api: Api) -> None:
    target = {"type": "python", "handler": "fail-once"}
    retry = {"max_retries": 2, "backoff_seconds": 0.5 * home.pace, "jitter": False}
    run = ended(api, "SUCCEEDED", target=target, payload="hunter2hunter2", retry=retry)
    first, second = run["attempts"]
    assert (first["outcome"], first["error_class"]) == ("failed", "ValueError")
    assert first["worker"].startswith("serve-") is (home.name == EQUIPPED)
    assert "not yet" in first["error"]
    assert "hunter2" not in first["error"]
    assert second["outcome"] == "succeeded"
    assert run["lateness_ms"] >= 0


def test_a_large_payload_goes_apart_and_arrives_whole(home: Home, api: Api, listener: Listener) -> None:
    payload = {"text": "y" * 300_000}
    run = ended(api, "SUCCEEDED", callback_url=f"{listener.url}/large-apart", payload=payload)
    assert listener.wait_for("/large-apart")[0].payload == payload
    status, job = api.call("GET", f"/v1/jobs/{run['job_id']}")
    assert status == 200
    assert json.loads(whole(home, json.dumps(job["payload"]), job["payload_url"])) == payload
