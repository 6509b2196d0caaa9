"""The bus of the stage, the function that receives its events, and the two consumers of the table's stream."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from aws_cdk import CfnOutput, Duration, Environment, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_destinations as destinations
from aws_cdk import aws_lambda_event_sources as event_sources
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from components.dead_letters import dead_letter_queue
from components.scheduler_function import FunctionFactory, FunctionShape, allow, store_settings
from components.worker_grants import READS, SEND, WRITES, counting_ends, indexing_patterns, no_tokens
from onthedot.access.tokens import RESERVED_TENANT
from onthedot.core import schema
from onthedot.core.records import TERMINAL, Kind
from onthedot.core.schema import JOB_SORT_KEY, RUN_PREFIX
from onthedot.engines.aws.sqs.dead_letters import QUEUE
from onthedot.events.lifecycle import SOURCE
from onthedot.settings import EventsSettings, PublisherSettings, StatisticsSettings
from onthedot.statistics.counters import ENDED, RUNS
from onthedot.targets import rules
from stacks.data_stack import DataStack
from stacks.queues_stack import QueuesStack
from stage_config import StageConfig

STATISTICS: Final = FunctionShape(memory_mb=256, timeout=Duration.seconds(60))
BATCH: Final = 1_000
# Ends of these seconds share a write for each tenant and minute. Statistics are that much behind.
BATCHING: Final = Duration.seconds(5)
# The function keeps no state. Only a source with a tumbling window names the shard of a batch. At the end of a window
# Lambda calls once more, so the windows are as long as they can be.
WINDOW: Final = Duration.minutes(15)
STATISTICS_RETRIES: Final = 100
STATISTICS_MAX_AGE: Final = Duration.hours(12)


def statistics_function(
    scope: Construct, config: StageConfig, data: DataStack, functions: FunctionFactory
) -> lambda_.Function:
    """Make the function that counts ended runs from the table's stream. It may write counters, and nothing else."""
    settings = StatisticsSettings(stage=config.stage, table=data.table.table_name)
    function = functions.make("statistics", settings, STATISTICS)
    function.add_to_role_policy(counting_ends(data))
    dead_letters = dead_letter_queue(scope, config, "statistics-dlq")
    function.add_event_source(
        event_sources.DynamoEventSource(
            data.table,
            # Ends from before the function's first deployment are counted too, if the stream has them.
            starting_position=lambda_.StartingPosition.TRIM_HORIZON,
            batch_size=BATCH,
            max_batching_window=BATCHING,
            tumbling_window=WINDOW,
            # One batch of a shard at a time: the position in the counters says that all changes before are counted.
            parallelization_factor=1,
            filters=[lambda_.FilterCriteria.filter(pattern) for pattern in ended_runs()],
            retry_attempts=STATISTICS_RETRIES,
            max_record_age=STATISTICS_MAX_AGE,
            on_failure=event_sources.SqsDlq(dead_letters),
        )
    )
    return function


def ended_runs() -> Iterator[dict[str, Any]]:
    """Yield the filters of the stream. A change that passes one of them may end a run.

    A run is created as ended, or its status becomes that of an end, or a skipped range grows. The stage's own jobs are
    left out: no token can be made for their tenant, so no caller could read their counters, and an idle stage makes no
    call.
    """
    ended = {"status": {"S": sorted(ENDED)}}
    others = {"status": {"S": [{"anything-but": sorted(ENDED)}]}}
    runs = {"kind": {"S": sorted(RUNS)}}
    yield _pattern("INSERT", {**runs, **ended})
    yield _pattern("MODIFY", {**runs, **ended}, others)
    yield _pattern("MODIFY", {"kind": {"S": [Kind.SKIPPED_RANGE.value]}})


def _pattern(event: str, new: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    keys = {schema.SORT_KEY: {"S": [JOB_SORT_KEY, {"prefix": RUN_PREFIX}]}}
    image = {"tenant": {"S": [{"anything-but": [RESERVED_TENANT]}]}, **new}
    images = {"NewImage": image, **({} if old is None else {"OldImage": old})}
    return {"eventName": [event], "dynamodb": {"Keys": keys, **images}}


EVENTS: Final = FunctionShape(memory_mb=512, timeout=Duration.seconds(60))
PUBLISHER: Final = FunctionShape(memory_mb=512, timeout=Duration.seconds(60))
# An event that could not be processed for hours goes to the dead-letter queue, for an operator to look at.
EVENT_MAX_AGE: Final = Duration.hours(6)
RETRIES: Final = 2
# The stream keeps its records for a day. A bus that is down for hours must not lose events.
PUBLISH_RETRIES: Final = 100
PUBLISH_MAX_AGE: Final = Duration.hours(12)
PUBLISH_BATCH: Final = 100
# The batches of one shard that are processed at the same time. Records of one item stay in order.
PUBLISH_PARALLEL: Final = 4


class EventsStack(Stack):
    """The bus. The events function receives every event on it, except the events that onthedot published."""

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
        super().__init__(scope, config.name("events"), env=env, description="onthedot: events in and out")
        self._config, self._data, self._queues = config, data, queues
        self._functions = FunctionFactory(self, config, dependencies)
        self.bus = events.EventBus(self, "Bus", event_bus_name=config.bus_name)
        self._dead_letters = dead_letter_queue(self, config, QUEUE)
        receiver, publisher = self._events_function(), self._publisher()
        self._subscribe_to_bus(receiver)
        if config.s3_event_buckets:
            self._subscribe_to_uploads(receiver, config.s3_event_buckets)
        statistics = statistics_function(self, config, data, self._functions)
        for function in (receiver, publisher, statistics):
            function.add_to_role_policy(no_tokens(data))
        CfnOutput(self, "BusName", value=self.bus.event_bus_name)
        CfnOutput(self, "EventsDeadLettersUrl", value=self._dead_letters.queue_url)

    def _events_function(self) -> lambda_.Function:
        settings = EventsSettings(
            **store_settings(self._config, self._data, self._queues),
            blob_bucket=self._data.blobs.bucket_name,
            allow_list=rules.to_json(self._config.allow_list),
            bus_tenant=self._config.bus_tenant,
        )
        function = self._functions.make("events", settings, EVENTS)
        self._allow_scheduling(function)
        # EventBridge only delivers the event. Lambda retries a function that failed.
        function.configure_async_invoke(
            retry_attempts=RETRIES,
            max_event_age=EVENT_MAX_AGE,
            on_failure=destinations.SqsDestination(self._dead_letters),
        )
        return function

    def _allow_scheduling(self, function: lambda_.Function) -> None:
        """Allow to find the jobs of an event, to stamp and send their runs, and to create and cancel jobs."""
        allow(function, [*READS, *WRITES], [self._data.table.table_arn])
        function.add_to_role_policy(indexing_patterns(self._data))
        allow(function, ["s3:PutObject", "s3:GetObject"], [self._data.blobs.arn_for_objects("*")])
        # Without it S3 answers 403 to a missing key, which looks the same as a wrong policy.
        allow(function, ["s3:ListBucket"], [self._data.blobs.bucket_arn])
        for arns in self._queues.run_queue_arns():
            allow(function, SEND, arns)

    def _subscribe_to_bus(self, function: lambda_.Function) -> None:
        events.Rule(
            self,
            "AllButOurs",
            rule_name=self._config.name("events-in"),
            description="Everything on the bus, except the events that onthedot itself publishes",
            event_bus=self.bus,
            event_pattern=events.EventPattern(source=events.Match.anything_but(SOURCE)),
            targets=[self._target(function)],
        )

    def _subscribe_to_uploads(self, function: lambda_.Function, buckets: tuple[str, ...]) -> None:
        """Subscribe to the account's default bus, which gets the events of a bucket with EventBridge notifications."""
        events.Rule(
            self,
            "Uploads",
            rule_name=self._config.name("uploads"),
            description="New objects in the buckets of the context value s3_event_buckets",
            event_pattern=events.EventPattern(
                source=["aws.s3"], detail_type=["Object Created"], detail={"bucket": {"name": list(buckets)}}
            ),
            targets=[self._target(function)],
        )

    def _target(self, function: lambda_.Function) -> targets.LambdaFunction:
        return targets.LambdaFunction(
            function, dead_letter_queue=self._dead_letters, retry_attempts=RETRIES, max_event_age=EVENT_MAX_AGE
        )

    def _publisher(self) -> lambda_.Function:
        settings = PublisherSettings(
            stage=self._config.stage,
            bus=self.bus.event_bus_name,
            every_change=self._config.publish_all_changes,
            with_results=self._config.publish_results,
        )
        publisher = self._functions.make("publisher", settings, PUBLISHER)
        allow(publisher, ["events:PutEvents"], [self.bus.event_bus_arn])
        publisher.add_event_source(self._changes(dead_letter_queue(self, self._config, "publisher-dlq")))
        return publisher

    def _changes(self, dead_letters: sqs.Queue) -> event_sources.DynamoEventSource:
        # No batching window: it would delay the event for clients that wait for the end of a run.
        return event_sources.DynamoEventSource(
            self._data.table,
            starting_position=lambda_.StartingPosition.TRIM_HORIZON,
            batch_size=PUBLISH_BATCH,
            parallelization_factor=PUBLISH_PARALLEL,
            filters=[lambda_.FilterCriteria.filter(published_changes(every_change=self._config.publish_all_changes))],
            report_batch_item_failures=True,
            bisect_batch_on_error=True,
            retry_attempts=PUBLISH_RETRIES,
            max_record_age=PUBLISH_MAX_AGE,
            on_failure=event_sources.SqsDlq(dead_letters),
        )


def published_changes(*, every_change: bool) -> dict[str, Any]:
    """Return the filter of the stream: changes of jobs and runs, and only their ends unless `every_change`.

    The table has other items too, and a run is written several times before it ends. No one subscribes to the stage's
    own jobs, whose changes would cost a call each minute.
    """
    runs = {"Keys": {schema.SORT_KEY: {"S": [JOB_SORT_KEY, {"prefix": RUN_PREFIX}]}}}
    ends = {} if every_change else {"status": {"S": sorted(TERMINAL)}}
    image = {"NewImage": {"tenant": {"S": [{"anything-but": [RESERVED_TENANT]}]}, **ends}}
    return {"eventName": ["INSERT", "MODIFY"], "dynamodb": {**runs, **image}}
