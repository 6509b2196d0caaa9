"""Events in and out through the real bus: custom events, S3 uploads, jobs by event, and what the scheduler tells."""

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.homes import Api, until
from tests.e2e.listener import Listener


@pytest.fixture(scope="module")
def bus(deployment: Deployment) -> str:
    return str(deployment.stack.bus)


def put(deployment: Deployment, bus: str, source: str, detail_type: str, detail: Any) -> str:
    entry = {"EventBusName": bus, "Source": source, "DetailType": detail_type, "Detail": json.dumps(detail)}
    answer = deployment.client("events").put_events(Entries=[entry])
    assert answer["FailedEntryCount"] == 0, answer
    return str(answer["Entries"][0]["EventId"])


def test_a_custom_event_runs_the_jobs_that_match_it(
    deployment: Deployment, api: Api, listener: Listener, bus: str
) -> None:
    pattern = {"source": ["shop"], "detail-type": ["order"], "detail": {"total": [{"numeric": [">", 100]}]}}
    job = api.submit(
        callback_url=f"{listener.url}/big-order", on_event=pattern, payload={"order": "$.detail.id", "fixed": 1}
    )
    assert job["status"] == "ACTIVE"
    put(deployment, bus, "shop", "order", {"id": "o-1", "total": 50})
    put(deployment, bus, "shop", "order", {"id": "o-2", "total": 500})
    put(deployment, bus, "other", "order", {"id": "o-3", "total": 500})
    arrival = listener.wait_for("/big-order")[0]
    assert arrival.payload == {"order": "o-2", "fixed": 1}
    _, page = api.call("GET", f"/v1/jobs/{job['job_id']}/executions")
    assert [run["trigger"] for run in page["executions"]] == ["event"]


def test_an_upload_to_s3_runs_a_job(deployment: Deployment, api: Api, listener: Listener) -> None:
    bucket = "onthedot-local-uploads"
    s3 = deployment.client("s3")
    s3.create_bucket(Bucket=bucket)
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration={"EventBridgeConfiguration": {}})
    pattern = {
        "source": ["aws.s3"],
        "detail-type": ["Object Created"],
        "detail": {"object": {"key": [{"suffix": ".csv"}]}},
    }
    api.submit(callback_url=f"{listener.url}/upload", on_event=pattern, payload={"key": "$.detail.object.key"})
    s3.put_object(Bucket=bucket, Key="report.csv", Body=b"1,2")
    assert listener.wait_for("/upload")[0].payload == {"key": "report.csv"}


def test_jobs_are_submitted_and_cancelled_by_event(
    deployment: Deployment, api: Api, listener: Listener, bus: str
) -> None:
    put(
        deployment,
        bus,
        "shop",
        "onthedot.job.submit",
        {"callback_url": f"{listener.url}/by-event", "payload": {"n": 7}},
    )
    assert listener.wait_for("/by-event")[0].payload == {"n": 7}
    job = api.submit(callback_url=f"{listener.url}/never", delay=3600)
    put(deployment, bus, "shop", "onthedot.job.cancel", {"job_id": job["job_id"]})
    api.wait_for(job["job_id"], "CANCELLED")


def test_a_bad_submit_goes_to_the_dead_letters_with_its_reason(deployment: Deployment, bus: str) -> None:
    put(deployment, bus, "shop", "onthedot.job.submit", {"callback_url": "not a url"})
    sqs = deployment.client("sqs")
    (url,) = [url for url in sqs.list_queues()["QueueUrls"] if url.endswith("events-dlq")]
    received = until(lambda: sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages"))
    assert "callback_url" in received[0]["Body"]


@pytest.fixture(scope="module")
def heard(deployment: Deployment, bus: str) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """All events of ours that a rule of the test has received so far."""
    sqs, events = deployment.client("sqs"), deployment.client("events")
    url = sqs.create_queue(QueueName=f"heard-{uuid.uuid4().hex[:8]}")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    pattern = json.dumps({"source": ["onthedot"]})
    events.put_rule(Name="e2e-heard", EventBusName=bus, EventPattern=pattern)
    events.put_targets(Rule="e2e-heard", EventBusName=bus, Targets=[{"Id": "queue", "Arn": arn}])
    seen: list[dict[str, Any]] = []

    def receive() -> list[dict[str, Any]]:
        messages = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages", [])
        for message in messages:
            seen.append(json.loads(message["Body"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return seen

    yield receive
    events.remove_targets(Rule="e2e-heard", EventBusName=bus, Ids=["queue"])
    events.delete_rule(Name="e2e-heard", EventBusName=bus)


def test_the_ends_of_runs_are_told_on_the_bus(
    api: Api, listener: Listener, heard: Callable[[], list[dict[str, Any]]]
) -> None:
    good = api.submit(callback_url=f"{listener.url}/told", payload={"secret": "not to be told"})
    bad = api.submit(callback_url=f"{listener.url}/told-bad?fail=9", retry={"max_retries": 0})

    def of(job: dict[str, Any]) -> list[dict[str, Any]]:
        return [event for event in heard() if event["detail"]["job_id"] == job["job_id"]]

    succeeded = until(lambda: of(good))[0]
    assert (succeeded["source"], succeeded["detail-type"]) == ("onthedot", "onthedot.run.succeeded")
    assert succeeded["detail"]["status"] == "SUCCEEDED"
    assert succeeded["detail"]["version"] >= 3
    assert "not to be told" not in json.dumps(succeeded)
    failed = until(lambda: of(bad))[0]
    assert failed["detail-type"] == "onthedot.run.failed"
    assert "503" in failed["detail"]["reason"]
