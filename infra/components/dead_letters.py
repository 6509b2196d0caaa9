"""Dead-letter queues, for messages that could not be delivered. An operator should look at each of them."""

from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from components.alarms import alarm_above
from stage_config import StageConfig

DLQ_RETENTION: Final = Duration.days(14)


def dead_letter_queue(scope: Construct, config: StageConfig, key: str) -> sqs.Queue:
    """Make a dead-letter queue with an alarm on its first message."""
    queue = sqs.Queue(
        scope,
        construct_id(key),
        queue_name=config.name(key),
        retention_period=DLQ_RETENTION,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
    )
    alarm_above(
        scope,
        f"{construct_id(key)}Alarm",
        name=config.name(f"{key}-not-empty"),
        metric=queue.metric_approximate_number_of_messages_visible(statistic="Maximum", period=Duration.minutes(5)),
        threshold=0,
        why=f"Undeliverable messages are waiting in {key}",
    )
    return queue


def construct_id(key: str) -> str:
    return "".join(part.capitalize() for part in key.split("-")) + "Queue"
