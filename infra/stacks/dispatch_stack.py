"""The functions that run by time: the planner every minute, the dispatchers by its ticks, the auditor every hour."""

from pathlib import Path

from aws_cdk import Duration, Environment, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_destinations as destinations
from aws_cdk import aws_lambda_event_sources as event_sources
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_scheduler_targets as targets
from constructs import Construct

from components.alarms import alarm_above, alarm_on_silence
from components.schedule_role import schedule_role
from components.scheduler_function import FunctionFactory, FunctionShape, allow
from components.store_settings import store_settings
from components.timing import DISPATCHER_TIMEOUT, TICK_MAX_AGE
from components.worker_grants import reading_shards
from onthedot import schema
from onthedot.observability import NAMESPACE
from onthedot.settings import AuditorSettings, DispatcherSettings, PlannerSettings
from shares import LEAST_CONCURRENCY, MOST_CONCURRENCY
from stacks.data_stack import DataStack
from stacks.queues_stack import QueuesStack
from stage_config import StageConfig

PLANNER = FunctionShape(memory_mb=256, timeout=Duration.seconds(30))
DISPATCHER = FunctionShape(memory_mb=512, timeout=DISPATCHER_TIMEOUT)
# The next audit covers the same fire times.
AUDIT_MAX_AGE = Duration.hours(1)
# Long enough for some ten thousand recurring jobs an hour. Jobs that it has no time for are counted.
AUDITOR = FunctionShape(memory_mb=512, timeout=Duration.minutes(10))
SILENT_MINUTES = 3
# Twice as long as a shard takes between two looks at its aside slot, so that the alarm stays on.
ASIDE_LOOKS = Duration.minutes(10)
# A throttled read fails now and then. A slot that cannot be read at all fails with every tick.
FEW_FAILED_SLOTS = 3
# A gate that could not be looked after is tried again after five minutes, so a lasting failure counts six times.
GATE_LOOKS, FEW_FAILED_GATES = Duration.minutes(30), 3
# The sweep counts a run that waits once an hour at least. The period is longer, so that no period is without a count.
LONG_WAITS = Duration.hours(2)


class DispatchStack(Stack):
    """The planner, the dispatcher and the auditor, with their schedules and alarms."""

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
        self._wake("EveryMinute", "tick", planner, Duration.minutes(1), TICK_MAX_AGE)
        self._wake("EveryHour", "audit", auditor, Duration.hours(1), AUDIT_MAX_AGE)
        for name, function in (("planner", planner), ("dispatcher", dispatcher), ("auditor", auditor)):
            self._alarm_on_errors(name, function)
        self._alarm_on_silence(planner)
        self._alarm_on_holes()
        self._alarm_on_long_waits()
        self._alarm_on_isolation()

    def _planner(self) -> lambda_.Function:
        settings = PlannerSettings(
            stage=self._config.stage,
            table=self._data.table.table_name,
            shards=self._config.shards,
            shards_per_group=self._config.shards_per_group,
            tick_queue_url=self._queues.tick.queue_url,
        )
        planner = self._functions.make("planner", settings, PLANNER)
        allow(planner, ["sqs:SendMessage"], [self._queues.tick.queue_arn])
        planner.add_to_role_policy(reading_shards(self._data))
        # Scheduler only delivers the event. Lambda retries a planner that failed.
        planner.configure_async_invoke(
            retry_attempts=1,
            max_event_age=TICK_MAX_AGE,
            on_failure=destinations.SqsDestination(self._queues.schedule_dead_letters),
        )
        return planner

    def _dispatcher(self) -> lambda_.Function:
        settings = DispatcherSettings(
            **store_settings(self._config, self._data, self._queues),
            tick_queue_url=self._queues.tick.queue_url,
        )
        dispatcher = self._functions.make("dispatcher", settings, DISPATCHER)
        self._allow_dispatching(dispatcher)
        dispatcher.add_event_source(self._tick_source())
        return dispatcher

    def _allow_dispatching(self, dispatcher: lambda_.Function) -> None:
        table = self._data.table.table_arn
        allow(dispatcher, ["dynamodb:Query"], [self._data.index_arn(schema.DUE)])
        reads = ["dynamodb:GetItem", "dynamodb:BatchGetItem"]
        writes = ["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:PartiQLUpdate", "dynamodb:PartiQLInsert"]
        # Query on the table itself reads the limits.
        allow(dispatcher, ["dynamodb:Query", *reads, *writes], [table])
        allow(dispatcher, ["sqs:SendMessage", "sqs:GetQueueAttributes"], self._queues.run_queue_arns())
        # A tick that runs out of time sends its own continuation to the queue.
        allow(dispatcher, ["sqs:SendMessage"], [self._queues.tick.queue_arn])
        # The age of the oldest message of a queue is available only as a metric.
        allow(dispatcher, ["cloudwatch:GetMetricData"], ["*"])

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
        )
        auditor = self._functions.make("auditor", settings, AUDITOR)
        table = self._data.table.table_arn
        allow(auditor, ["dynamodb:Query"], [table, self._data.index_arn(schema.DUE)])
        allow(auditor, ["dynamodb:BatchGetItem"], [table])
        auditor.add_to_role_policy(reading_shards(self._data, and_gates=True))
        auditor.configure_async_invoke(retry_attempts=1, max_event_age=AUDIT_MAX_AGE)
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

    def _alarm_on_errors(self, name: str, function: lambda_.Function) -> None:
        alarm_above(
            self,
            f"{name.capitalize()}ErrorsAlarm",
            name=self._config.name(f"{name}-errors"),
            metric=function.metric_errors(period=Duration.minutes(5)),
            threshold=0,
            why=f"The {name} failed. Lambda retries it, and its log says why",
        )

    def _alarm_on_silence(self, planner: lambda_.Function) -> None:
        alarm_on_silence(
            self,
            "PlannerSilentAlarm",
            name=self._config.name("planner-silent"),
            metric=planner.metric_invocations(period=Duration.minutes(1)),
            periods=SILENT_MINUTES,
            why="No tick for minutes: runs that are not yet sent to a queue will not fire",
        )

    def _alarm_on_holes(self) -> None:
        alarm_above(
            self,
            "HolesAlarm",
            name=self._config.name("holes"),
            metric=self._count("auditor", "holes", Duration.hours(1)),
            threshold=0,
            why="Fire times without an outcome: runs were lost. The auditor's log and `onthedot audit` name them",
        )

    def _alarm_on_long_waits(self) -> None:
        alarm_above(
            self,
            "WaitingLongAlarm",
            name=self._config.name("waiting-long"),
            metric=self._count("dispatcher", "waiting_long", LONG_WAITS),
            threshold=0,
            why="Runs were sent more than an hour ago and no worker has started them. `explain` names what is missing",
        )

    def _alarm_on_isolation(self) -> None:
        """Raise an alarm for records and slots that ticks went around. They stop no other run, and need a person."""
        alarm_above(
            self,
            "RecordsAsideAlarm",
            name=self._config.name("records-aside"),
            metric=self._count("dispatcher", "aside", ASIDE_LOOKS),
            threshold=0,
            why="Records that no version could read or handle were set aside. `onthedot audit` names them",
        )
        alarm_above(
            self,
            "SlotsFailedAlarm",
            name=self._config.name("slots-failed"),
            metric=self._count("dispatcher", "slot_failed", Duration.minutes(5)),
            threshold=FEW_FAILED_SLOTS,
            why="Ticks cannot finish some slots, whose runs start late. The dispatcher's log says which and why",
        )
        alarm_above(
            self,
            "GatesFailedAlarm",
            name=self._config.name("gates-failed"),
            metric=self._count("dispatcher", "gate_failed", GATE_LOOKS),
            threshold=FEW_FAILED_GATES,
            why="Ticks cannot look after some gates, whose runs may wait too long. The dispatcher's log says which",
        )

    def _count(self, part: str, name: str, period: Duration) -> cloudwatch.Metric:
        """Return a count as `observability.emit` writes it on Lambda, where Powertools adds the service."""
        dimensions = {"stage": self._config.stage, "part": part, "service": part}
        return cloudwatch.Metric(
            namespace=NAMESPACE, metric_name=name, dimensions_map=dimensions, statistic="Sum", period=period
        )
