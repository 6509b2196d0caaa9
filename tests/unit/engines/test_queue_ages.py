"""The number of messages in a queue comes from SQS, their age from CloudWatch, and neither needs the other."""

import logging
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from onthedot.core.choices import Priority
from onthedot.core.errors import Unavailable, Unreachable
from onthedot.engines.aws.sqs.queues import SqsRunQueues
from tests.builders import VirtualClock

URLS = {"default-high": "http://sqs/onthedot-default-high"}


def refusal(code: str, status: int = 400) -> ClientError:
    return ClientError({"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}, "op")  # type: ignore[typeddict-item]


class Service:
    """A client of both services that raises its error, if it has one."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.calls = 0

    def get_queue_attributes(self, **_: Any) -> Any:
        self._called()
        return {"Attributes": {"ApproximateNumberOfMessages": "7"}}

    def get_metric_data(self, **_: Any) -> Any:
        self._called()
        return {"MetricDataResults": [{"Values": [12.5, 3.0]}]}

    def _called(self) -> None:
        self.calls += 1
        if self.error is not None:
            raise self.error


def queues(sqs: Service, cloudwatch: Service | None) -> SqsRunQueues:
    made: Any = None if cloudwatch is None else (lambda: cloudwatch)
    return SqsRunQueues(sqs, made, URLS, VirtualClock())  # type: ignore[arg-type]


def test_the_number_of_messages_needs_no_cloudwatch() -> None:
    cloudwatch = Service(refusal("Throttling"))

    assert queues(Service(), cloudwatch).visible("default", Priority.HIGH) == 7
    assert cloudwatch.calls == 0


def test_the_age_of_the_oldest_message_is_in_milliseconds() -> None:
    assert queues(Service(), Service()).oldest_age_ms("default", Priority.HIGH) == 12_500
    assert queues(Service(), None).oldest_age_ms("default", Priority.HIGH) is None


@pytest.mark.parametrize(
    "error", [refusal("Throttling"), refusal("AccessDenied", 403), ReadTimeoutError(endpoint_url="http://cloudwatch")]
)
def test_a_failing_cloudwatch_is_an_unknown_age_and_logged_once(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    cloudwatch = Service(error)
    asked = queues(Service(), cloudwatch)
    with caplog.at_level(logging.WARNING):
        assert [asked.oldest_age_ms("default", Priority.HIGH) for _ in range(3)] == [None] * 3
    assert [record.message for record in caplog.records] == ["age_unknown"]

    cloudwatch.error = None
    assert asked.oldest_age_ms("default", Priority.HIGH) == 12_500


@pytest.mark.parametrize(
    ("error", "raised", "why"),
    [
        (refusal("RequestThrottled"), Unavailable, "queue default-high: RequestThrottled"),
        (refusal("AWS.SimpleQueueService.NonExistentQueue"), Unreachable, "queue default-high: AWS.Sim"),
        (refusal("AccessDenied", 403), Unreachable, "queue default-high: AccessDenied"),
    ],
)
def test_a_queue_that_cannot_be_asked_says_why(error: Exception, raised: type[Unavailable], why: str) -> None:
    with pytest.raises(raised, match=why):
        queues(Service(error), None).visible("default", Priority.HIGH)


def test_a_queue_that_the_stage_does_not_have_is_named() -> None:
    asked = queues(Service(), Service())

    with pytest.raises(Unreachable, match="this stage has no queue gone-high"):
        asked.visible("gone", Priority.HIGH)
    assert asked.oldest_age_ms("gone", Priority.HIGH) is None
