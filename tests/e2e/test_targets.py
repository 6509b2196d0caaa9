"""Each type of target in each home. What a performer makes of bad targets is tested beside it."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3

from tests.e2e.deployment import Deployment
from tests.e2e.functions import new_function, new_role
from tests.e2e.homes import EQUIPPED, STACK, Api, Home
from tests.e2e.listener import Listener
from tests.unit.targets.grpc.peer import a_peer, thanks

ONCE = {"max_retries": 0}


def ended(api: Api, status: str, seconds: float = 30, **job: Any) -> dict[str, Any]:
    """The execution of a job that is run now, once it ended so."""
    submitted = api.submit(**{"retry": ONCE, **job})
    api.wait_for(submitted["job_id"], status, seconds)
    return api.execution(submitted["job_id"])


def error_class(run: dict[str, Any]) -> str | None:
    return str(run["attempts"][-1]["error_class"])


def whole(home: Home, content: str, link: str | None) -> bytes:
    """A large result or payload. The stack answers with a link to S3, and a server with the content itself."""
    if home.name != STACK:
        assert link is None
        return content.encode()
    assert link is not None
    reply = urllib3.request("GET", link, retries=False)
    assert reply.status == 200
    return reply.data


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


def test_http_does_not_reach_the_address_of_metadata(api: Api) -> None:
    run = ended(api, "FAILED", callback_url="http://169.254.169.254/latest/meta-data")
    assert error_class(run) == "refused_address"


FUNCTION = "e2e-function"
CODE = """
def handle(event, context):
    if event.get("fail"):
        raise ValueError("as asked")
    return {"seen": event}
"""


@pytest.fixture(scope="module")
def function(deployment: Deployment) -> Iterator[str]:
    new_function(deployment.client, FUNCTION, CODE, new_role(deployment.client, FUNCTION), Timeout=20)
    yield FUNCTION
    deployment.client("lambda").delete_function(FunctionName=FUNCTION)


def test_lambda_is_called_and_waited_for(api: Api, function: str) -> None:
    run = ended(api, "SUCCEEDED", target={"type": "lambda", "function": function}, payload={"n": 1})
    assert json.loads(run["result"])["seen"] == {"n": 1}
    run = ended(api, "FAILED", target={"type": "lambda", "function": function}, payload={"fail": True})
    assert "as asked" in run["error"]


PLACE = "shop.Orders/Place"


def test_grpc_is_called_by_reflection(api: Api) -> None:
    with a_peer(thanks) as peer:
        target = {"type": "grpc", "address": peer.address, "method": PLACE}
        run = ended(api, "SUCCEEDED", target=target, payload={"orderId": "o-1"})
    assert json.loads(run["result"])


@pytest.mark.usefixtures("able_home")
def test_shell_gets_the_payload_and_no_credentials(api: Api) -> None:
    run = ended(api, "SUCCEEDED", target={"type": "shell", "argv": ["cat"]}, payload={"n": 1})
    assert json.loads(run["result"]) == {"n": 1}
    run = ended(api, "SUCCEEDED", target={"type": "shell", "argv": ["env"]})
    names = {line.partition("=")[0] for line in run["result"].splitlines()}
    assert {"ONTHEDOT_RUN", "PATH"} <= names
    assert not names & {"ONTHEDOT_TOKEN", "ONTHEDOT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}


@pytest.mark.usefixtures("able_home")
def test_python_handlers_run_and_a_large_result_is_whole(home: Home, api: Api) -> None:
    run = ended(api, "SUCCEEDED", target={"type": "python", "handler": "echo"}, payload={"n": 1})
    assert json.loads(run["result"])["payload"] == {"n": 1}
    assert run["result_url"] is None
    run = ended(api, "SUCCEEDED", target={"type": "python", "handler": "large"}, payload=200_000)
    assert whole(home, run["result"], run["result_url"]) == json.dumps("x" * 200_000).encode()


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
