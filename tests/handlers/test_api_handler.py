"""API Gateway's event in, its answer out."""

import base64
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from onthedot.settings import ApiSettings, DispatcherSettings
from tests.handlers.conftest import BUCKET, TABLE, Cloud, Context

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
    (message,) = cloud.messages(cloud.queue_base + "default-high")
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


def test_a_parameter_that_is_given_twice_is_refused_by_name(handler: ModuleType) -> None:
    given: dict[str, Any] = {
        "queryStringParameters": {"limit": "2"},
        "multiValueQueryStringParameters": {"limit": ["1", "2"]},
    }
    answer = handler.handle(event("GET", "/v1/jobs", **given), Context())
    assert answer["statusCode"] == 422
    assert [one["field"] for one in json.loads(answer["body"])["error"]["details"]] == ["limit"]


def test_a_request_can_be_found_again_by_its_id(handler: ModuleType) -> None:
    answer = handler.handle(event("GET", "/v1/health"), Context())
    assert answer["headers"]["X-Request-Id"] == "request-1"


def gateway_event(path: str, domain: str) -> dict[str, Any]:
    """A GET on a domain of its own, or on the URL of the gateway. On a domain, the path has the base path."""
    return event("GET", path, requestContext={"domainName": domain, "authorizer": CALLER})


GATEWAY = "a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com"
DOMAIN = "jobs.example.com"


def on_domain(cloud: Cloud, load: Callable[..., ModuleType], url: str) -> ModuleType:
    return load("api", ApiSettings(**cloud.store_settings, blob_bucket=BUCKET, allow_list={}, public_url=url))


@pytest.mark.parametrize(
    ("base_path", "path", "domain"),
    [
        ("", "/v1/health", GATEWAY),
        ("", "/v1/health", DOMAIN),
        ("/sched", "/v1/health", GATEWAY),
        ("/sched", "/sched/v1/health", DOMAIN),
        ("/v1", "/v1/health", GATEWAY),
        ("/v1", "/v1/v1/health", DOMAIN),
    ],
)
def test_a_path_is_routed_on_the_domain_and_on_the_url_of_the_gateway(
    cloud: Cloud, load: Callable[..., ModuleType], base_path: str, path: str, domain: str
) -> None:
    handler = on_domain(cloud, load, f"https://{DOMAIN}{base_path}")
    answer = handler.handle(gateway_event(path, domain), Context())
    assert answer["statusCode"] in {200, 503}, answer
    assert "status" in json.loads(answer["body"])


def test_the_base_path_alone_is_the_root_where_there_is_nothing(cloud: Cloud, load: Callable[..., ModuleType]) -> None:
    handler = on_domain(cloud, load, f"https://{DOMAIN}/sched")
    assert handler.handle(gateway_event("/sched", DOMAIN), Context())["statusCode"] == 404


def test_the_description_names_the_url_on_the_domain(cloud: Cloud, load: Callable[..., ModuleType]) -> None:
    handler = on_domain(cloud, load, f"https://{DOMAIN}/sched")
    event_of = gateway_event("/sched/openapi.json", DOMAIN)
    assert json.loads(handler.handle(event_of, Context())["body"])["servers"] == [{"url": f"https://{DOMAIN}/sched"}]


def test_runs_of_a_worker_over_rest_are_metrics_of_the_api(
    handler: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(path: str, **body: Any) -> dict[str, Any]:
        answer = handler.handle(event("POST", path, json.dumps(body)), Context())
        assert answer["statusCode"] < 300, answer
        content: dict[str, Any] = json.loads(answer["body"])
        return content

    def metrics() -> list[dict[str, Any]]:
        lines = map(json.loads, capsys.readouterr().out.splitlines())
        return [line for line in lines if "_aws" in line]

    call("/v1/jobs", target={"type": "shell", "argv": ["true"]})
    offer = {"pool": "pull", "capabilities": ["shell"], "resources": {"concurrency": 1, "cpu": 1, "memory_mb": 512}}
    worker = call("/v1/workers/register", **offer)["worker_id"]
    assert metrics() == [], "a request that moves no run writes no metric"
    [run] = call(f"/v1/workers/{worker}/lease", max=1)["runs"]
    [leased] = metrics()
    assert (len(leased["lateness_ms"]), leased["stage"]) == (1, "test")
    path = f"/v1/executions/{run['execution_id']}/complete"
    call(path, attempt=run["attempt"], status="SUCCEEDED", receipt=run["receipt"])
    [completed] = metrics()
    assert completed["succeeded"] == [1]


TRACE = "0af7651916cd43dd8448eb211c80319c"


def test_the_trace_of_the_call_is_logged_and_stored_with_the_job(
    handler: ModuleType, cloud: Cloud, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0")
    body = json.dumps({"callback_url": "https://example.com/"})
    handler.handle(event("POST", "/v1/jobs", body), Context())
    handler.handle(
        event("POST", "/v1/jobs", body, headers={"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}), Context()
    )
    stored = {item["trace"]["S"] for item in cloud.items()}
    own = "5759e988bd862e3fe1be46a994272793"
    assert stored == {f"{own}-53995c3f42cd8ad8-01", f"{TRACE}-b7ad6b7169203331-01"}
    lines = [line for line in caplog.records if line.message == "answered"]
    assert [vars(line)["trace_id"] for line in lines] == [own, TRACE]


def tick(cloud: Cloud, load: Callable[..., ModuleType]) -> None:
    """Let the dispatcher end a tick of both shards."""
    body = json.dumps({"group": 0, "shards": [0, 1], "planned_at": 0})
    record = {"messageId": "m1", "body": body, "attributes": {"ApproximateReceiveCount": "1"}}
    load("dispatcher", DispatcherSettings(**cloud.store_settings)).handle({"Records": [record]}, Context())


def let_ticks_age(cloud: Cloud, milliseconds: int) -> None:
    table = cloud.client("dynamodb")
    for item in cloud.items():
        if item["pk"]["S"].startswith("progress#"):
            done = json.loads(item["done"]["S"])
            item["done"] = {"S": json.dumps({**done, "ticked_at": done["ticked_at"] - milliseconds})}
            table.put_item(TableName=TABLE, Item=item)


def test_health_tells_the_age_of_the_stored_ticks_with_the_same_fields_each_time(
    cloud: Cloud, load: Callable[..., ModuleType]
) -> None:
    def health() -> tuple[int, str, Any]:
        """Ask a new process, which remembers nothing."""
        api = load("api", ApiSettings(**cloud.store_settings, blob_bucket=BUCKET, allow_list={}))
        answer = api.handle(event("GET", "/v1/health", caller=None), Context())
        body = json.loads(answer["body"])
        assert set(body) == {"status", "version", "time", "last_tick", "tick_age_seconds"}
        assert (body["last_tick"] is None) == (body["tick_age_seconds"] is None)
        return answer["statusCode"], body["status"], body["tick_age_seconds"]

    assert health() == (200, "starting", None)
    tick(cloud, load)
    status, word, age = health()
    assert (status, word) == (200, "ok")
    assert age < 60
    let_ticks_age(cloud, 360_000)
    status, word, age = health()
    assert (status, word) == (503, "late")
    assert 360 <= age < 420
    cloud.client("dynamodb").delete_table(TableName=TABLE)
    assert health() == (503, "late", None)
