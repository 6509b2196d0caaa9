"""The last minutes in SQS: delayed messages by pool and priority, and the tick queue."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from onthedot.adapters.aws_errors import error_code, translated
from onthedot.adapters.leftovers import retry_leftovers
from onthedot.domain.run import Priority
from onthedot.ports import Backlog, Clock, Deadline, Received, RunMessage, Tick
from onthedot.schema import queue_key

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.client import CloudWatchClient
    from mypy_boto3_sqs.client import SQSClient

MESSAGES_PER_BATCH: Final = 10
LONGEST_DELAY_SECONDS: Final = 900
LONGEST_HIDING_SECONDS: Final = 12 * 3600
_TICK_PATIENCE_MS: Final = 10_000
# Deleted meanwhile, or delivered to somebody else: then there is nothing to give back.
_MESSAGE_IS_GONE: Final = frozenset({"ReceiptHandleIsInvalid", "MessageNotInflight", "InvalidParameterValue"})


class SqsRunQueues:
    """`RunQueues` on one standard queue for each pool and priority; the tenant is the fair queues' group.

    `cloudwatch` makes the client when a sweep first asks for a queue's age, which is seldom.
    """

    def __init__(
        self,
        client: "SQSClient",
        cloudwatch: "Callable[[], CloudWatchClient] | None",
        queue_urls: Mapping[str, str],
        clock: Clock,
    ) -> None:
        self._client = client
        self._cloudwatch = cloudwatch
        self._queue_urls = queue_urls
        self._clock = clock

    def send(self, messages: Sequence[RunMessage], deadline: Deadline) -> Sequence[RunMessage]:
        by_queue: dict[str, list[RunMessage]] = defaultdict(list)
        for message in messages:
            by_queue[self._url(message.pool, message.priority)].append(message)
        unsent: list[RunMessage] = []
        for url, batch in ((url, batch) for url, queued in by_queue.items() for batch in _tens(queued)):
            unsent += retry_leftovers(batch, lambda left, url=url: self._send_batch(url, left), self._clock, deadline)  # type: ignore[misc]
        return unsent

    def _send_batch(self, url: str, messages: Sequence[RunMessage]) -> Sequence[RunMessage]:
        now = self._clock.now()
        entries: Any = [_entry(str(number), message, now) for number, message in enumerate(messages)]
        with translated("send"):
            reply = self._client.send_message_batch(QueueUrl=url, Entries=entries)
        sent = {int(entry["Id"]) for entry in reply.get("Successful", [])}
        return [message for number, message in enumerate(messages) if number not in sent]

    def backlog(self, pool: str, priority: Priority) -> Backlog:
        url = self._url(pool, priority)
        with translated("backlog"):
            reply = self._client.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
        visible = int(reply["Attributes"]["ApproximateNumberOfMessages"])
        return Backlog(visible, 0 if visible == 0 else self._oldest_age(url.rsplit("/", 1)[-1]))

    def hide(self, received: Received, milliseconds: int) -> None:
        seconds = min(max(milliseconds // 1000, 0), LONGEST_HIDING_SECONDS)
        url = self._url(received.message.pool, received.message.priority)
        try:
            with translated("hide"):
                self._client.change_message_visibility(
                    QueueUrl=url, ReceiptHandle=received.receipt, VisibilityTimeout=seconds
                )
        except ClientError as error:
            if error_code(error).rsplit(".", 1)[-1] not in _MESSAGE_IS_GONE:
                raise

    def _url(self, pool: str, priority: Priority) -> str:
        return self._queue_urls[queue_key(pool, priority)]

    def _oldest_age(self, queue_name: str) -> int | None:
        """SQS tells the age of the oldest message through CloudWatch only, some minutes late."""
        if self._cloudwatch is None:
            return None
        end = datetime.fromtimestamp(self._clock.now() / 1000, UTC)
        metric = {
            "Namespace": "AWS/SQS",
            "MetricName": "ApproximateAgeOfOldestMessage",
            "Dimensions": [{"Name": "QueueName", "Value": queue_name}],
        }
        query: Any = {"Id": "age", "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Maximum"}}
        with translated("oldest age"):
            reply = self._cloudwatch().get_metric_data(
                MetricDataQueries=[query], StartTime=end - timedelta(minutes=5), EndTime=end
            )
        values = [value for result in reply["MetricDataResults"] for value in result["Values"]]
        return int(values[0] * 1000) if values else None


class SqsTickQueue:
    """`TickQueue`."""

    def __init__(self, client: "SQSClient", url: str, clock: Clock) -> None:
        self._client = client
        self._url = url
        self._clock = clock

    def send_ticks(self, ticks: Sequence[Tick]) -> Sequence[Tick]:
        deadline = Deadline(self._clock.now() + _TICK_PATIENCE_MS)
        return [tick for batch in _tens(ticks) for tick in retry_leftovers(batch, self._send, self._clock, deadline)]

    def _send(self, ticks: Sequence[Tick]) -> Sequence[Tick]:
        entries: Any = [{"Id": str(n), "MessageBody": tick_body(tick)} for n, tick in enumerate(ticks)]
        with translated("send ticks"):
            reply = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
        sent = {int(entry["Id"]) for entry in reply.get("Successful", [])}
        return [tick for number, tick in enumerate(ticks) if number not in sent]


def _tens(messages: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (messages[start : start + MESSAGES_PER_BATCH] for start in range(0, len(messages), MESSAGES_PER_BATCH))


def _entry(entry_id: str, message: RunMessage, now: int) -> dict[str, Any]:
    """Whole seconds, rounded down: the message comes in the second before its fire time, the worker holds it."""
    delay = min(max((message.fire_at - now) // 1000, 0), LONGEST_DELAY_SECONDS)
    return {
        "Id": entry_id,
        "MessageBody": message_body(message),
        "DelaySeconds": delay,
        "MessageGroupId": message.tenant,
    }


def message_body(message: RunMessage) -> str:
    return json.dumps(
        {
            "run": message.run_id,
            "generation": message.generation,
            "fire_at": message.fire_at,
            "tenant": message.tenant,
            "priority": message.priority,
            "pool": message.pool,
        },
        separators=(",", ":"),
    )


def read_message(body: str) -> RunMessage:
    """Raises ValueError, KeyError or TypeError for what is no message of ours."""
    fields = json.loads(body)
    return RunMessage(
        run_id=fields["run"],
        generation=fields["generation"],
        fire_at=int(fields["fire_at"]),
        tenant=fields["tenant"],
        priority=Priority(fields["priority"]),
        pool=fields["pool"],
    )


def tick_body(tick: Tick) -> str:
    return json.dumps({"group": tick.group, "shards": list(tick.shards), "planned_at": tick.planned_at})


def read_tick(body: str, message_id: str, receive_count: int) -> Tick:
    """Raises ValueError, KeyError or TypeError for what is no tick."""
    fields = json.loads(body)
    return Tick(
        group=int(fields["group"]),
        shards=tuple(int(shard) for shard in fields["shards"]),
        planned_at=int(fields["planned_at"]),
        tick_id=message_id,
        redelivered=receive_count > 1,
    )
