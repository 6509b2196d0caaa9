"""Events of the bus: runs of the jobs that wait for them, jobs submitted and cancelled, bad ones put away."""

import json
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import pytest

from onthedot.access.ports import Principal
from onthedot.api.http import Request
from onthedot.api.router import handle as call_api
from onthedot.core.errors import Unavailable
from onthedot.core.ports import Deadline, Moved, Refused
from onthedot.core.records import Record, Status
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from onthedot.settings import EventsSettings
from tests.handlers.conftest import BUCKET, Cloud, Context

URL = "https://example.com/"
OPERATOR = Principal("acme", "operator", "ada")


def event(detail: Any, detail_type: str = "Order Paid", **changes: Any) -> dict[str, Any]:
    return {
        "version": "0",
        "id": "7bf73129-1428-4cd3-a780-95db273d1602",
        "detail-type": detail_type,
        "source": "shop",
        "account": "123456789012",
        "time": "2026-03-01T12:00:00Z",
        "region": "us-east-1",
        "resources": [],
        "detail": detail,
        **changes,
    }


def deep(levels: int) -> Any:
    return {} if not levels else {"x": deep(levels - 1)}


def submit(**fields: Any) -> dict[str, Any]:
    return event({"callback_url": URL, **fields}, "onthedot.job.submit")


def one_by_one(store: DynamoRunStore, records: Sequence[Record], _: Deadline) -> list[Moved | Refused]:
    """moto reads no PartiQL inserts."""
    standing = [store.create(record) for record in records]
    return [Moved(None) if existing is None else Refused(existing) for existing in standing]


@pytest.fixture
def dead_letters(cloud: Cloud) -> str:
    return str(cloud.client("sqs").create_queue(QueueName="test-events-dlq")["QueueUrl"])


@pytest.fixture
def handler(
    cloud: Cloud, load: Callable[..., ModuleType], dead_letters: str, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    monkeypatch.setattr(DynamoRunStore, "create_many", one_by_one)
    settings = EventsSettings(**cloud.store_settings, blob_bucket=BUCKET, allow_list={}, bus_tenant="acme")
    return load("events", settings)


def a_waiting_job(handler: ModuleType, **fields: Any) -> str:
    body = json.dumps({"callback_url": URL, "on_event": {"source": ["shop"]}, **fields}).encode()
    response = call_api(handler._engine, Request("POST", "/v1/jobs", body=body, principal=OPERATOR))
    assert response.status == 202, response.body
    return str(response.body["job_id"])


def stored(handler: ModuleType, job_id: str) -> Any:
    found = handler._engine.store.get(job_id)
    assert found is not None
    return found


def put_away(cloud: Cloud, url: str) -> list[Any]:
    return [json.loads(message["Body"]) for message in cloud.messages(url)]


def test_an_event_makes_a_run_of_the_job_that_waits_for_it(handler: ModuleType, cloud: Cloud) -> None:
    job_id = a_waiting_job(handler, priority="HIGH")
    (run_id,) = handler.handle(event({"n": 1}), Context())["ids"]
    run = stored(handler, run_id)
    assert (run.job_id, run.tenant, run.trigger) == (job_id, "acme", "event")
    assert json.loads(run.payload)["detail"] == {"n": 1}
    (message,) = cloud.messages(cloud.queue_base + "default-high")
    assert json.loads(message["Body"])["run"] == run_id


def test_a_large_event_is_kept_apart(handler: ModuleType, cloud: Cloud) -> None:
    a_waiting_job(handler)
    (run_id,) = handler.handle(event({"x": "y" * 50_000}), Context())["ids"]
    ref = stored(handler, run_id).payload_ref
    content = cloud.client("s3").get_object(Bucket=BUCKET, Key=ref)["Body"].read()
    assert json.loads(content)["detail"] == {"x": "y" * 50_000}


def test_what_we_publish_never_comes_back_in(handler: ModuleType) -> None:
    a_waiting_job(handler, on_event={"source": ["onthedot"]})
    assert handler.handle(event({}, "onthedot.run.failed", source="onthedot"), Context()) == {"ids": []}


def test_an_event_submits_a_job_once_however_often_it_comes(handler: ModuleType, cloud: Cloud) -> None:
    (job_id,) = handler.handle(submit(delay=3600, name="by bus"), Context())["ids"]
    assert handler.handle(submit(delay=3600, name="by bus"), Context())["ids"] == [job_id]
    job = stored(handler, job_id)
    assert (job.tenant, job.definition.name, job.status) == ("acme", "by bus", Status.PENDING)
    assert len(cloud.items()) == 1


def test_a_job_with_a_key_of_its_own_keeps_it(handler: ModuleType, cloud: Cloud) -> None:
    first = handler.handle(submit(delay=3600, idempotency_key="k"), Context())
    other = {**submit(delay=3600, idempotency_key="k"), "id": "another event"}
    assert handler.handle(other, Context()) == first
    assert len(cloud.items()) == 1


def test_an_event_cancels_a_job_once_however_often_it_comes(handler: ModuleType) -> None:
    (job_id,) = handler.handle(submit(delay=3600), Context())["ids"]
    cancel = event({"job_id": job_id}, "onthedot.job.cancel")
    assert handler.handle(cancel, Context()) == {"ids": [job_id]}
    assert handler.handle(cancel, Context()) == {"ids": [job_id]}
    assert stored(handler, job_id).status is Status.CANCELLED


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (submit(priority="URGENT"), "priority: is not one of the choices"),
        (event("text", "onthedot.job.submit"), "is not a JSON object"),
        (event({"job_id": "job_nobodys"}, "onthedot.job.cancel"), "there is no such job"),
        (event({"job": "x"}, "onthedot.job.cancel"), "job_id: is missing"),
        (event({}, "onthedot.job.explode"), "unknown command"),
        (event({}, time="today"), "time: is not a time"),
        (event({"x": {"y": "a\ud800b"}}), "detail.x.y: has half of a surrogate pair"),
        (event(deep(101)), "is nested deeper than 100 levels"),
        ("text", "not an event"),
    ],
)
def test_a_bad_one_is_put_away_with_its_reason_and_not_tried_again(
    handler: ModuleType, cloud: Cloud, dead_letters: str, bad: Any, reason: str
) -> None:
    answer = handler.handle(bad, Context())
    assert answer["ids"] == []
    (letter,) = put_away(cloud, dead_letters)
    assert reason in letter["reason"]
    assert letter["event"] == bad
    assert cloud.items() == []


def test_a_key_used_for_another_job_is_put_away(handler: ModuleType, cloud: Cloud, dead_letters: str) -> None:
    handler.handle(submit(delay=3600), Context())
    handler.handle(submit(delay=1800), Context())
    (letter,) = put_away(cloud, dead_letters)
    assert "idempotency_conflict" in letter["reason"]


def test_of_a_huge_bad_one_the_envelope_is_put_away(handler: ModuleType, cloud: Cloud, dead_letters: str) -> None:
    handler.handle(submit(surprise="x" * 256_000), Context())
    (letter,) = put_away(cloud, dead_letters)
    assert "surprise" in letter["reason"]
    assert (letter["event"]["source"], letter["left_out"]) == ("shop", "detail")
    assert "detail" not in letter["event"]


@pytest.mark.parametrize("what", [submit(), event({"n": 1})])
def test_a_passing_failure_is_raised_so_that_lambda_tries_again(
    handler: ModuleType, cloud: Cloud, dead_letters: str, monkeypatch: pytest.MonkeyPatch, what: dict[str, Any]
) -> None:
    a_waiting_job(handler)

    def away(*_: Any) -> Any:
        raise Unavailable("dynamodb")

    for write in ("create", "create_many"):
        monkeypatch.setattr(DynamoRunStore, write, away)
    with pytest.raises(Unavailable):
        handler.handle(what, Context())
    assert put_away(cloud, dead_letters) == []


def test_logs_name_the_event_and_not_what_is_in_it(handler: ModuleType, caplog: pytest.LogCaptureFixture) -> None:
    handler.handle(event({"secret": "hunter2"}), Context())
    (line,) = [vars(record) for record in caplog.records if record.message == "taken"]
    assert (line["source"], line["detail_type"]) == ("shop", "Order Paid")
    assert "hunter2" not in str(line)


def test_a_bad_event_that_cannot_be_put_away_is_raised_so_that_it_is_not_lost(
    handler: ModuleType, cloud: Cloud, dead_letters: str
) -> None:
    cloud.client("sqs").delete_queue(QueueUrl=dead_letters)
    with pytest.raises(Unavailable, match="put an event away"):
        handler.handle(submit(at="never"), Context())
