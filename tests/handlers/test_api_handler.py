"""API Gateway's event in, its answer out."""

import base64
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from onthedot.settings import ApiSettings
from tests.handlers.conftest import BUCKET, Cloud, Context

CALLER = {"tenant": "acme", "role": "operator", "name": "ada"}


def event(method: str, path: str, body: str | None = None, caller: Any = CALLER, **more: Any) -> dict[str, Any]:
    return {
        "httpMethod": method,
        "path": path,
        "body": body,
        "headers": None,
        "queryStringParameters": None,
        "requestContext": {"authorizer": caller},
        **more,
    }


@pytest.fixture
def handler(cloud: Cloud, load: Callable[..., ModuleType]) -> ModuleType:
    return load("api", ApiSettings(**cloud.store_settings, blob_bucket=BUCKET, allow_list={}))


def test_a_job_is_accepted_stored_and_sent(handler: ModuleType, cloud: Cloud) -> None:
    body = json.dumps({"callback_url": "https://example.com/", "priority": "HIGH"})
    answer = handler.handle(event("POST", "/v1/jobs", body), Context())
    assert answer["statusCode"] == 202
    assert answer["headers"]["Content-Type"] == "application/json"
    (item,) = cloud.items()
    assert item["pk"]["S"] == json.loads(answer["body"])["job_id"]
    assert item["tenant"]["S"] == "acme"
    (message,) = cloud.messages(cloud.queue_urls["default-high"])
    assert json.loads(message["Body"])["run"] == item["pk"]["S"]


def test_a_base64_body_is_read(handler: ModuleType) -> None:
    body = base64.b64encode(json.dumps({"callback_url": "https://example.com/"}).encode()).decode()
    answer = handler.handle(event("POST", "/v1/jobs", body, isBase64Encoded=True), Context())
    assert answer["statusCode"] == 202


@pytest.mark.parametrize("caller", [None, {}, {"tenant": ""}])
def test_without_an_authorizers_word_there_is_no_caller(handler: ModuleType, cloud: Cloud, caller: Any) -> None:
    answer = handler.handle(event("POST", "/v1/jobs", "{}", caller), Context())
    assert answer["statusCode"] == 401
    assert cloud.items() == []


def test_a_body_that_is_no_text_is_a_bad_request(handler: ModuleType) -> None:
    answer = handler.handle(event("POST", "/v1/jobs", "\ud800"), Context())
    assert answer["statusCode"] == 400


def test_a_request_can_be_found_again_by_its_id(handler: ModuleType) -> None:
    answer = handler.handle(event("GET", "/v1/health"), Context())
    assert answer["headers"]["X-Request-Id"] == "request-1"


def test_a_worker_that_has_only_a_token_leases_and_completes_a_run(handler: ModuleType) -> None:
    def call(path: str, caller: Any, **fields: Any) -> Any:
        answer = handler.handle(event("POST", path, json.dumps(fields), caller), Context())
        assert answer["statusCode"] in {200, 201, 202}, answer
        return json.loads(answer["body"])

    machine = {**CALLER, "role": "worker"}
    job_id = call("/v1/jobs", CALLER, target={"type": "shell", "argv": ["true"]}, payload="x" * 5000)["job_id"]
    worker_id = call("/v1/workers/register", machine, capabilities=["shell"])["worker_id"]
    (run,) = call(f"/v1/workers/{worker_id}/lease", machine)["runs"]
    assert (run["execution_id"], run["payload"], run["target"]["argv"]) == (job_id, "x" * 5000, ["true"])
    said = {"attempt": run["attempt"], "receipt": run["receipt"], "worker_id": worker_id}
    assert call(f"/v1/executions/{job_id}/heartbeat", machine, **said)["cancel_requested"] is False
    done = call(f"/v1/executions/{job_id}/complete", machine, status="SUCCEEDED", result="y" * 5000, **said)
    assert (done["status"], done["result"]) == ("SUCCEEDED", None)
    assert "results/" in done["result_url"]


def test_a_workers_token_submits_nothing(handler: ModuleType, cloud: Cloud) -> None:
    body = json.dumps({"callback_url": "https://example.com/"})
    answer = handler.handle(event("POST", "/v1/jobs", body, {**CALLER, "role": "worker"}), Context())
    assert answer["statusCode"] == 403
    assert cloud.items() == []
