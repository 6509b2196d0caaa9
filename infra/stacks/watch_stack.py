"""The stage as an operator sees it: the topic, the alarms and the dashboard.

Everything here is known by name, so this stack imports nothing from the others, and none of them needs it.
"""

from collections.abc import Iterator
from typing import Final

from aws_cdk import CfnOutput, Duration, Environment, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from components.metrics import Watched, alarm, dashboard, of_aws, own
from onthedot.engines.aws.throttling import THROTTLED
from onthedot.metrics import (
    DEAD,
    FAULTS,
    LATENESS,
    SENT,
    SUCCEEDED,
    UNDELIVERABLE,
    UNSETTLED,
    WAITING_LONG,
    WORKERS_LOST,
)
from stage_config import StageConfig

MINUTE: Final = Duration.minutes(1)
FIVE: Final = Duration.minutes(5)
QUARTER: Final = Duration.minutes(15)
TICK_MINUTES: Final = 3
"""Minutes without all ticks before the alarm: one tick may fall into the next minute, three in a row cannot."""
LATE_MS: Final = 5_000
# Together with the canary, which succeeds each minute, this asks for more than five failures in five minutes.
LEAST_SUCCESSES: Final = 0.5
FEW_FAULTS: Final = 2
FEW_LOST: Final = 2
FEW_ERRORS: Final = 4
FEW_THROTTLED: Final = 10
STREAM_MS: Final = 5 * 60_000
# The sweep counts a run that waits once an hour at least. The period is longer, so that no period is without a count.
LONG_WAITS: Final = Duration.hours(2)
# Four checks of the pools, so that three of them are always there: the count of the newest one may still be on its way.
CHECKS: Final = Duration.minutes(20)
# Twice as long as the time between two looks at an aside slot, so that the alarm stays on.
LOOKS: Final = Duration.minutes(10)


class WatchStack(Stack):
    """The topic `onthedot-<stage>-alarms`, the alarms that send to it, and the dashboard `onthedot-<stage>`."""

    def __init__(self, scope: Construct, config: StageConfig, env: Environment) -> None:
        super().__init__(scope, config.name("watch"), env=env, description="onthedot: alarms and dashboard")
        self._config = config
        topic = self._topic()
        dashboard(self, config, [alarm(self, config, topic, watched) for watched in self._all()])
        CfnOutput(self, "AlarmTopic", value=topic.topic_arn)

    def _topic(self) -> sns.ITopic:
        if self._config.alarm_topic is not None:
            return sns.Topic.from_topic_arn(self, "Alarms", self._config.alarm_topic)
        topic = sns.Topic(self, "Alarms", topic_name=self._config.name("alarms"), enforce_ssl=True)
        # A policy of its own takes the place of the one by which alarms of the account may publish.
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                actions=["sns:Publish"],
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                resources=[topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": self.account}},
            )
        )
        if self._config.alarm_email is not None:
            topic.add_subscription(subscriptions.EmailSubscription(self._config.alarm_email))
        return topic

    def _all(self) -> Iterator[Watched]:
        """Yield each alarm. Two causes share one where the person who is called would do the same."""
        yield from self._of_time()
        yield from self._of_runs()
        yield from self._of_parts()

    def _of_time(self) -> Iterator[Watched]:
        config = self._config
        yield Watched(
            name="ticks",
            metric=own(config, SENT, "SampleCount", MINUTE),
            threshold=config.shard_groups,
            below=True,
            periods=TICK_MINUTES,
            silence_is_bad=True,
            why="Ticks are missing: runs that are not yet in a queue start late",
        )
        yield Watched(
            name="lateness",
            metric=own(config, LATENESS, "p99", FIVE),
            threshold=LATE_MS,
            periods=3,
            of_them=2,
            silence_is_bad=config.canary,
            why="Runs start late, or no run starts at all, not even the canary",
        )
        yield Watched(
            name="backlog",
            metric=own(config, WAITING_LONG, "Sum", LONG_WAITS),
            threshold=0,
            why="Runs were sent, and for minutes (push) or an hour (pull) no worker has started them",
        )

    def _of_runs(self) -> Iterator[Watched]:
        config = self._config
        yield Watched(
            name="dead-runs",
            metric=own(config, DEAD, "Sum", FIVE),
            threshold=0,
            why="Runs failed for good and are dead letters now",
        )
        yield Watched(
            name="error-rate",
            metric=own(config, SUCCEEDED, "Average", FIVE),
            threshold=LEAST_SUCCESSES,
            below=True,
            periods=3,
            of_them=2,
            why="More attempts fail than succeed",
        )
        yield Watched(
            name="workers",
            metric=own(config, WORKERS_LOST, "Sum", CHECKS),
            threshold=FEW_LOST,
            why="Workers died during attempts, or a pool has fewer workers than its minimum",
        )
        yield Watched(
            name="unsettled",
            metric=own(config, UNSETTLED, "Sum", LOOKS),
            threshold=0,
            why="A fire time without an outcome, or a record or message that the code could not handle",
        )

    def _of_parts(self) -> Iterator[Watched]:
        config = self._config
        yield Watched(
            name="undeliverable",
            metric=own(config, UNDELIVERABLE, "Sum", LOOKS),
            threshold=0,
            why="Messages are in a dead-letter queue",
        )
        yield Watched(
            name="faults",
            metric=own(config, FAULTS, "Sum", QUARTER),
            threshold=FEW_FAULTS,
            why="Steps of ticks fail, or ticks are late: the dispatcher's log names the service",
        )
        yield Watched(
            name="throttled",
            metric=own(config, THROTTLED, "Sum", FIVE),
            threshold=FEW_THROTTLED,
            why="AWS throttles onthedot's calls",
        )
        yield Watched(
            name="api-errors",
            metric=of_aws("ApiGateway", "5XXError", "Sum", FIVE, ApiName=config.name("api"), Stage=config.stage),
            threshold=FEW_ERRORS,
            why="The API answers with errors of its own",
        )
        yield Watched(
            name="stream-behind",
            metric=of_aws("Lambda", "IteratorAge", "Maximum", FIVE, FunctionName=config.name("publisher")),
            threshold=STREAM_MS,
            why="Changes of jobs and runs are published more than five minutes late",
        )
