"""Dead-letter queues, for messages that could not be delivered. An operator should look at each of them."""

from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from onthedot.core import schema
from onthedot.core.slots import queue_key
from stage_config import StageConfig

DLQ_RETENTION: Final = Duration.days(14)


def dead_letter_queue(scope: Construct, config: StageConfig, key: str) -> sqs.Queue:
    """Make a dead-letter queue. The planner counts its messages for the alarm `undeliverable`."""
    return sqs.Queue(
        scope,
        construct_id(key),
        queue_name=config.name(key),
        retention_period=DLQ_RETENTION,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
    )


def construct_id(key: str) -> str:
    return "".join(part.capitalize() for part in key.split("-")) + "Queue"


def dead_letter_keys(config: StageConfig) -> list[str]:
    """Return the short names of all dead-letter queues of a stage."""
    pools = [
        pool.name if pool.queues == 1 else queue_key(pool.name, priority)
        for pool in config.all_pools
        for priority in schema.PRIORITIES
    ]
    others = ("tick", "schedule", "events", "publisher", "statistics")
    return [f"{key}-dlq" for key in (*dict.fromkeys(pools), *others)]
