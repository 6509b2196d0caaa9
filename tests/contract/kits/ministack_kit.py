"""The aws engine on MiniStack: a table, queues and a bucket for each test, made from the same schema as the stacks."""

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from localstack.table import table_arguments
from onthedot.core import schema
from onthedot.core.choices import Priority
from onthedot.core.clock import SystemClock
from onthedot.core.ports import Clock, Deadline
from onthedot.core.records import Record
from onthedot.core.slots import queue_key
from onthedot.engines.aws.client import LeanClient
from onthedot.engines.aws.dynamodb.items import DynamoItems
from onthedot.engines.aws.dynamodb.keys import run_key
from onthedot.engines.aws.dynamodb.moves import to_attribute
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from onthedot.engines.aws.s3_blobs import S3Blobs
from onthedot.engines.aws.sqs.queues import SqsRunQueues
from onthedot.engines.aws.sqs.ticks import SqsTickQueue, read_tick
from onthedot.events.ports import RecordChange
from onthedot.statistics.store import StatisticsWriter, count_changes
from tests.contract.kits.kit import MAX_RECEIVES, PAGE_SIZE, VISIBILITY_SECONDS, Inbox, Kit, TickWithReceipt

if TYPE_CHECKING:
    from mypy_boto3_cloudwatch.client import CloudWatchClient
    from mypy_boto3_dynamodb.client import DynamoDBClient
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_sqs.client import SQSClient

LONGEST_WAIT_SECONDS = 2


@dataclass(frozen=True)
class Clients:
    dynamodb: "DynamoDBClient"
    sqs: "SQSClient"
    s3: "S3Client"
    cloudwatch: "CloudWatchClient"


class LeanFirst:
    """The lean client, and boto3's for what only tests call."""

    def __init__(self, lean: LeanClient, other: Any) -> None:
        self._lean = lean
        self._other = other

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lean if hasattr(self._lean, name) else self._other, name)


class MiniStackKit(Kit):
    clock: Clock = SystemClock()

    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._name = f"contract-{secrets.token_hex(4)}"
        self._changes = 0
        clients.dynamodb.create_table(**table_arguments(self._name))

    def let_pass(self, seconds: float) -> None:
        assert seconds <= LONGEST_WAIT_SECONDS, "nobody wants to wait that long"
        time.sleep(seconds + 0.05)

    def store(self) -> DynamoRunStore:
        return DynamoRunStore(self._clients.dynamodb, self._name, self.clock, PAGE_SIZE)

    def due_index(self) -> DynamoRunStore:
        return self.store()

    def items(self) -> DynamoItems:
        return DynamoItems(self._clients.dynamodb, self._name, self.clock)

    def damage(self, run_id: str, fields: Mapping[str, str | int | None]) -> None:
        updates: Any = {
            name: {"Action": "DELETE"} if value is None else {"Action": "PUT", "Value": to_attribute(value)}
            for name, value in fields.items()
        }
        self._clients.dynamodb.update_item(TableName=self._name, Key=run_key(run_id), AttributeUpdates=updates)

    def blobs(self) -> S3Blobs:
        self._clients.s3.create_bucket(Bucket=self._name)
        return S3Blobs(lambda: self._clients.s3, self._name)

    def queues(self) -> tuple[SqsRunQueues, Inbox]:
        keys = [queue_key(schema.DEFAULT_POOL, priority) for priority in schema.PRIORITIES]
        urls = {key: self._queue_with_dead_letters(key) for key in keys}
        queues = SqsRunQueues(self._clients.sqs, lambda: self._clients.cloudwatch, urls, self.clock)
        return queues, Inbox(queues, SqsBackDoor(self._clients.sqs, urls))

    def counter(self) -> StatisticsWriter:
        return StatisticsWriter(self.items())

    def count(self, old: Record | None, new: Record | None) -> None:
        self._changes += 1
        change = RecordChange(str(self._changes), old, new, self.clock.now())
        deadline = Deadline.after(self.clock.now(), 30_000)
        result = count_changes(self.counter(), "shard", [change], self.clock, deadline)
        assert (result.faulty, result.unwritten) == (0, 0)

    def ticks(self) -> tuple[SqsTickQueue, "SqsTickInbox"]:
        url = self._queue_with_dead_letters("ticks")
        return SqsTickQueue(self._clients.sqs, url, self.clock), SqsTickInbox(self._clients.sqs, url)

    def _queue_with_dead_letters(self, key: str) -> str:
        dead = self._queue(f"{key}-dlq", {})
        arn = self._clients.sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"][
            "QueueArn"
        ]
        redrive = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": MAX_RECEIVES})
        return self._queue(key, {"RedrivePolicy": redrive, "VisibilityTimeout": str(VISIBILITY_SECONDS)})

    def _queue(self, key: str, attributes: Any) -> str:
        return self._clients.sqs.create_queue(QueueName=f"{self._name}-{key}", Attributes=attributes)["QueueUrl"]


class SqsBackDoor:
    def __init__(self, client: "SQSClient", urls: dict[str, str]) -> None:
        self._client = client
        self._urls = urls

    def post(self, pool: str, priority: Priority, body: str) -> None:
        self._client.send_message(QueueUrl=self._urls[queue_key(pool, priority)], MessageBody=body)

    def dead_letters(self, pool: str, priority: Priority) -> int:
        url = f"{self._urls[queue_key(pool, priority)]}-dlq"
        reply = self._client.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
        return int(reply["Attributes"]["ApproximateNumberOfMessages"])


class SqsTickInbox:
    def __init__(self, client: "SQSClient", url: str) -> None:
        self._client = client
        self._url = url

    def receive(self) -> list[TickWithReceipt]:
        reply = self._client.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=10,
            WaitTimeSeconds=0,
            MessageSystemAttributeNames=["ApproximateReceiveCount"],
        )
        return [_received(message) for message in reply.get("Messages", [])]

    def delete(self, received: TickWithReceipt) -> None:
        self._client.delete_message(QueueUrl=self._url, ReceiptHandle=received.receipt)


def _received(message: Any) -> TickWithReceipt:
    receives = int(message["Attributes"]["ApproximateReceiveCount"])
    return TickWithReceipt(read_tick(message["Body"], message["MessageId"], receives), message["ReceiptHandle"])
