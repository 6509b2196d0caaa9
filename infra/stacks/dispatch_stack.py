"""The functions that run by time: the planner every minute, the dispatchers by its ticks, the auditor every hour."""

from pathlib import Path

from aws_cdk import Duration, Environment, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_destinations as destinations
from aws_cdk import aws_lambda_event_sources as event_sources
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as targets
from constructs import Construct

from components.dead_letters import dead_letter_keys
from components.scheduler_function import FunctionFactory, FunctionShape, allow, schedule_role, store_settings
from components.worker_grants import READS, SEND, WRITES, no_tokens, reading_shards, reading_workers
from onthedot.core import schema
from onthedot.settings import AuditorSettings, DispatcherSettings, PlannerSettings
from stacks.data_stack import DataStack
from stacks.queues_stack import DISPATCHER_TIMEOUT, TICK_MAX_AGE, QueuesStack
from stage_config import LEAST_CONCURRENCY, MOST_CONCURRENCY, StageConfig

PLANNER = FunctionShape(memory_mb=256, timeout=Duration.seconds(30))
DISPATCHER = FunctionShape(memory_mb=512, timeout=DISPATCHER_TIMEOUT)
# The next audit covers the same fire times.
AUDIT_MAX_AGE = Duration.hours(1)
# Long enough for some ten thousand recurring jobs an hour. Jobs that it has no time for are counted.
AUDITOR = FunctionShape(memory_mb=512, timeout=Duration.minutes(10))


class DispatchStack(Stack):
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
        super().__init__(scope, config.name("dispatch"), env=env, description="onthedot: planner, dispatcher, auditor")
        self._config, self._data, self._queues = config, data, queues
        self._functions = FunctionFactory(self, config, dependencies)
        planner, dispatcher, auditor = self._planner(), self._dispatcher(), self._auditor()
        for function in (planner, dispatcher, auditor):
            function.add_to_role_policy(no_tokens(data))
        self._wake("EveryMinute", "tick", planner, Duration.minutes(1), TICK_MAX_AGE)
        self._wake("EveryHour", "audit", auditor, Duration.hours(1), AUDIT_MAX_AGE)

    def _planner(self) -> lambda_.Function:
        settings = PlannerSettings(
            stage=self._config.stage,
            table=self._data.table.table_name,
            shards=self._config.shards,
            shards_per_group=self._config.shards_per_group,
            queue_base=self._queues.base,
            dead_letters=dead_letter_keys(self._config),
            least_workers={known.name: known.min_workers for known in self._config.pools if known.min_workers},
        )
        planner = self._functions.make("planner", settings, PLANNER)
        allow(planner, ["sqs:SendMessage"], [self._queues.tick.queue_arn])
        # It counts the messages that could not be delivered.
        dead_letters = self.format_arn(service="sqs", resource=self._config.name("*-dlq"))
        allow(planner, ["sqs:GetQueueAttributes"], [dead_letters])
        planner.add_to_role_policy(reading_shards(self._data))
        planner.add_to_role_policy(reading_workers(self._data))
        # Scheduler only delivers the event. Lambda retries a planner that failed.
        planner.configure_async_invoke(
            retry_attempts=1,
            max_event_age=TICK_MAX_AGE,
            on_failure=destinations.SqsDestination(self._queues.schedule_dead_letters),
        )
        return planner

    def _dispatcher(self) -> lambda_.Function:
        settings = DispatcherSettings(
            **store_settings(self._config, self._data, self._queues), canary=self._config.canary
        )
        # A tick that runs out of time sends its continuation to the queue that invokes this function.
        dispatcher = self._functions.make("dispatcher", settings, DISPATCHER, may_loop=True)
        self._allow_dispatching(dispatcher)
        dispatcher.add_event_source(self._tick_source())
        return dispatcher

    def _allow_dispatching(self, dispatcher: lambda_.Function) -> None:
        table = self._data.table.table_arn
        allow(dispatcher, ["dynamodb:Query"], [self._data.index_arn(schema.DUE)])
        # Query on the table itself reads the limits.
        allow(dispatcher, [*READS, *WRITES], [table])
        # A tick that runs out of time sends its own continuation to the queue.
        allow(dispatcher, ["sqs:SendMessage"], [self._queues.tick.queue_arn])
        # The age of the oldest message of a queue is available only as a metric.
        allow(dispatcher, ["cloudwatch:GetMetricData"], ["*"])
        for arns in self._queues.run_queue_arns():
            allow(dispatcher, SEND, arns)

    def _tick_source(self) -> event_sources.SqsEventSource:
        # Twice the number of groups, so that a slow minute does not delay the next one.
        concurrency = min(MOST_CONCURRENCY, max(LEAST_CONCURRENCY, 2 * self._config.shard_groups))
        return event_sources.SqsEventSource(
            self._queues.tick,
            batch_size=1,
            report_batch_item_failures=True,
            max_concurrency=concurrency,
        )

    def _auditor(self) -> lambda_.Function:
        settings = AuditorSettings(
            **store_settings(self._config, self._data, self._queues),
            blob_bucket=self._data.blobs.bucket_name,
        )
        auditor = self._functions.make("auditor", settings, AUDITOR)
        table = self._data.table.table_arn
        allow(auditor, ["dynamodb:Query"], [table, self._data.index_arn(schema.DUE)])
        allow(auditor, ["dynamodb:BatchGetItem"], [table])
        blobs = self._data.blobs
        allow(auditor, ["s3:ListBucket"], [blobs.bucket_arn])
        allow(auditor, ["s3:DeleteObject"], [blobs.arn_for_objects(f"{schema.PAYLOADS}*")])
        allow(auditor, ["s3:GetObject", "s3:PutObject"], [blobs.arn_for_objects(f"{schema.PASSES}*")])
        auditor.add_to_role_policy(reading_shards(self._data, and_gates=True))
        auditor.configure_async_invoke(
            retry_attempts=1,
            max_event_age=AUDIT_MAX_AGE,
            on_failure=destinations.SqsDestination(self._queues.schedule_dead_letters),
        )
        return auditor

    def _wake(
        self, construct_id: str, name: str, function: lambda_.Function, rate: Duration, max_age: Duration
    ) -> None:
        target = targets.LambdaInvoke(
            function,
            dead_letter_queue=self._queues.schedule_dead_letters,
            max_event_age=max_age,
            retry_attempts=2,
            role=schedule_role(self, f"{name.capitalize()}Role"),
        )
        scheduler.Schedule(
            self,
            construct_id,
            schedule_name=self._config.name(name),
            description=f"One {name} every {rate.to_human_string()}",
            schedule=scheduler.ScheduleExpression.rate(rate),
            target=target,
        )
