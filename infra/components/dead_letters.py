"""Dead-letter queues, for messages that could not be delivered. An operator should look at each of them."""

from typing import Final

from aws_cdk import Duration
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from onthedot.core import schema
from onthedot.core.pools import Pool
from onthedot.core.slots import queue_name
from stage_config import StageConfig

DLQ_RETENTION: Final = Duration.days(14)


def dead_letter_queue(scope: Construct, config: StageConfig, key: str) -> sqs.Queue:
    """Make a dead-letter queue. The planner counts its messages for the alarm `undeliverable`."""
    return sqs.Queue(
        scope,
        f"{construct_part(key)}Queue",
        queue_name=config.name(key),
        retention_period=DLQ_RETENTION,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
    )


def construct_part(name: str) -> str:
    """Return a name in kebab case as a part of a construct id."""
    return "".join(part.capitalize() for part in name.split("-"))


def queue_keys(pool: Pool) -> list[str]:
    """Return the short names of the queues of a pool."""
    return list(dict.fromkeys(queue_name(pool, priority) for priority in schema.PRIORITIES))


def dead_letter_keys(config: StageConfig) -> list[str]:
    """Return the short names of all dead-letter queues of a stage."""
    runs = [key for pool in config.all_pools for key in queue_keys(pool)]
    return [f"{key}-dlq" for key in (*runs, "tick", "schedule", "events", "publisher", "statistics")]
