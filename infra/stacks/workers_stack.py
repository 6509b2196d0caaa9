"""Who does the work: one function, fed by an event source per priority with its share of concurrency."""

from pathlib import Path

from aws_cdk import Environment, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as event_sources
from constructs import Construct

from components.scheduler_function import FunctionFactory, FunctionShape, allow
from components.store_settings import store_settings
from components.timing import WORKER_TIMEOUT
from onthedot.domain.run import Priority
from onthedot.settings import WorkerSettings
from stacks.data_stack import DataStack
from stacks.queues_stack import QueuesStack
from stage_config import StageConfig

# Ten attempts wait for ten sockets: it is little CPU, but TLS handshakes at the fire time should not queue.
WORKER = FunctionShape(memory_mb=1024, timeout=WORKER_TIMEOUT)
BATCH_SIZE = 10


class WorkersStack(Stack):
    """One function serves all priorities: what differs is only how many batches of each may run at once."""

    def __init__(
        self,
        scope: Construct,
        config: StageConfig,
        env: Environment,
        *,
        data: DataStack,
        queues: QueuesStack,
        dependencies: Path,
    ) -> None:
        super().__init__(scope, config.name("workers"), env=env, description="onthedot: Lambda workers")
        self._config, self._data, self._queues = config, data, queues
        worker = FunctionFactory(self, config, dependencies).make("worker", self._settings(), WORKER)
        self._allow_working(worker)
        for priority, share in config.concurrency_by_priority().items():
            worker.add_event_source(self._source(priority, share))

    def _settings(self) -> WorkerSettings:
        return WorkerSettings(
            **store_settings(self._config, self._data, self._queues),
            blob_bucket=self._data.blobs.bucket_name,
            allow_private_targets=self._config.local,
        )

    def _allow_working(self, worker: lambda_.Function) -> None:
        writes = ["dynamodb:UpdateItem", "dynamodb:PartiQLUpdate"]
        allow(worker, ["dynamodb:GetItem", *writes], [self._data.table.table_arn])
        # A retry is sent again; taking, hiding and deleting messages comes with the event sources.
        allow(worker, ["sqs:SendMessage"], self._queues.run_queue_arns())
        allow(worker, ["s3:GetObject"], [self._data.blobs.arn_for_objects("*")])
        # Without it S3 answers 403 to a missing key, and nobody could tell a lost blob from a wrong policy.
        allow(worker, ["s3:ListBucket"], [self._data.blobs.bucket_arn])

    def _source(self, priority: Priority, share: int) -> event_sources.SqsEventSource:
        # No batching window: it would hold runs back beyond their fire time.
        return event_sources.SqsEventSource(
            self._queues.run_queue(priority),
            batch_size=BATCH_SIZE,
            report_batch_item_failures=True,
            max_concurrency=share,
        )
