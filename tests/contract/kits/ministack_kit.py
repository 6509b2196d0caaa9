"""The aws engine on MiniStack: a table, queues and a bucket for each test, made from the same schema as the stacks."""

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from localstack.table import table_arguments
from onthedot import schema
from onthedot.clock import SystemClock
from onthedot.domain.gates.names import GateId
from onthedot.domain.runs.queue_names import queue_key
from onthedot.domain.runs.records import Priority, Record
from onthedot.engines.aws.dynamodb.gates import DynamoGateStore
from onthedot.engines.aws.dynamodb.keys import gate_key, gate_limits_key, limits_key, progress_key, run_key, stage_key
from onthedot.engines.aws.dynamodb.limits import DynamoLimitsStore
from onthedot.engines.aws.dynamodb.moves import to_attribute
from onthedot.engines.aws.dynamodb.patterns import DynamoPatternStore
from onthedot.engines.aws.dynamodb.progress import DynamoProgressStore
from onthedot.engines.aws.dynamodb.registry import DynamoSigningStore, DynamoWorkerRegistry
from onthedot.engines.aws.dynamodb.shards import DynamoShardStore
from onthedot.engines.aws.dynamodb.stage import DynamoStage
from onthedot.engines.aws.dynamodb.statistics import DynamoStatisticsStore, DynamoStatisticsWriter
from onthedot.engines.aws.dynamodb.store import DynamoRunStore
from onthedot.engines.aws.dynamodb.stored_entries import DynamoStoredEntries
from onthedot.engines.aws.dynamodb.tokens import DynamoTokenStore
from onthedot.engines.aws.s3_blobs import S3Blobs
from onthedot.engines.aws.sqs.queues import SqsRunQueues
from onthedot.engines.aws.sqs.ticks import SqsTickQueue, read_tick
from onthedot.engines.aws.tenant_data import AwsTenantData
from onthedot.ports import Deadline, RecordChange
from onthedot.use_cases.statistics.count_changes import count_changes
from tests.contract.kits.kit import MAX_RECEIVES, PAGE_SIZE, VISIBILITY_SECONDS, Inbox, TickWithReceipt

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


class MiniStackKit:
    def __init__(self, clients: Clients) -> None:
        self._clients = clients
        self._name = f"contract-{secrets.token_hex(4)}"
        self.clock = SystemClock()
        self._changes = 0
        clients.dynamodb.create_table(**table_arguments(self._name))

    def let_pass(self, seconds: float) -> None:
        assert seconds <= LONGEST_WAIT_SECONDS, "nobody wants to wait that long"
        time.sleep(seconds + 0.05)

    def store(self) -> DynamoRunStore:
        return DynamoRunStore(self._clients.dynamodb, self._name, self.clock, PAGE_SIZE)

    def progress(self) -> DynamoProgressStore:
        return DynamoProgressStore(self._clients.dynamodb, self._name)

    def write_progress(self, shard: int, text: str) -> None:
        updates: Any = {"done": {"Action": "PUT", "Value": to_attribute(text)}}
        self._clients.dynamodb.update_item(TableName=self._name, Key=progress_key(shard), AttributeUpdates=updates)

    def shards(self) -> DynamoShardStore:
        return DynamoShardStore(self._clients.dynamodb, self._name, PAGE_SIZE)

    def limits(self) -> DynamoLimitsStore:
        return DynamoLimitsStore(self._clients.dynamodb, self._name)

    def damage(self, run_id: str, fields: Mapping[str, str | int | None]) -> None:
        updates: Any = {
            name: {"Action": "DELETE"} if value is None else {"Action": "PUT", "Value": to_attribute(value)}
            for name, value in fields.items()
        }
        self._clients.dynamodb.update_item(TableName=self._name, Key=run_key(run_id), AttributeUpdates=updates)

    def gates(self) -> DynamoGateStore:
        return DynamoGateStore(self._clients.dynamodb, self._name, self.clock)

    def write_limits(self, tenant: str, name: str | None, text: str) -> None:
        key = limits_key(f"tenant#{tenant}") if name is None else gate_limits_key(tenant, name)
        self._clients.dynamodb.put_item(TableName=self._name, Item={**key, "limits": {"S": text}})

    def write_holder(self, gate: GateId, page: int, text: str) -> None:
        updates: Any = {"h": {"Action": "ADD", "Value": {"SS": [text]}}}
        self._clients.dynamodb.update_item(
            TableName=self._name, Key=gate_key(gate.text, page), AttributeUpdates=updates
        )

    def tokens(self) -> DynamoTokenStore:
        return DynamoTokenStore(self._clients.dynamodb, self._name, self.clock)

    def tenant_data(self) -> AwsTenantData:
        clients = self._clients
        return AwsTenantData(clients.dynamodb, clients.s3, self._name, self._name, clock=self.clock, page=PAGE_SIZE)

    def stage(self) -> DynamoStage:
        return DynamoStage(self._clients.dynamodb, self._name)

    def write_stage(self, text: str) -> None:
        self._clients.dynamodb.put_item(TableName=self._name, Item={**stage_key(), "stage_state": {"S": text}})

    def stored_entries(self) -> DynamoStoredEntries:
        return DynamoStoredEntries(self._clients.dynamodb, self._name)

    def blobs(self) -> S3Blobs:
        self._clients.s3.create_bucket(Bucket=self._name)
        return S3Blobs(self._clients.s3, self._name)

    def queues(self) -> tuple[SqsRunQueues, Inbox]:
        keys = [queue_key(schema.DEFAULT_POOL, priority) for priority in schema.PRIORITIES]
        urls = {key: self._queue_with_dead_letters(key) for key in keys}
        queues = SqsRunQueues(self._clients.sqs, lambda: self._clients.cloudwatch, urls, self.clock)
        return queues, Inbox(queues, SqsBackDoor(self._clients.sqs, urls))

    def registry(self) -> DynamoWorkerRegistry:
        return DynamoWorkerRegistry(self._clients.dynamodb, self._name, self.clock)

    def signing(self) -> DynamoSigningStore:
        return DynamoSigningStore(self._clients.dynamodb, self._name)

    def patterns(self) -> DynamoPatternStore:
        return DynamoPatternStore(self._clients.dynamodb, self._name, self.clock, PAGE_SIZE)

    def statistics(self) -> DynamoStatisticsStore:
        return DynamoStatisticsStore(self._clients.dynamodb, self._name)

    def counter(self) -> DynamoStatisticsWriter:
        return DynamoStatisticsWriter(self._clients.dynamodb, self._name)

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
