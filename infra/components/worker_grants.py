"""What those who run jobs may do, in one place: on Lambda, where Lambda takes the messages, and in tasks that pull."""

from collections.abc import Iterator, Sequence
from typing import Any

from aws_cdk import aws_iam as iam

from onthedot.adapters.dynamodb_keys import PATTERN_PREFIX, SIGNING_PREFIX, WORKERS_PARTITION
from onthedot.domain.pools import Pool
from onthedot.use_cases.results import PREFIX
from stacks.data_stack import DataStack
from stacks.queues_stack import QueuesStack

CONSUME = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"]


def working(data: DataStack, queues: QueuesStack) -> Iterator[iam.PolicyStatement]:
    """Start and finish runs, read payloads and parents' results, put results away, send retries, make workflows."""
    yield _allow(["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:UpdateItem"], [data.table.table_arn])
    # A workflow's graph is made by whoever runs it, and waiting jobs hear of their parents' end together.
    yield _allow(["dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate"], [data.table.table_arn])
    # A tenant's first signed call makes its key.
    yield _allow(["dynamodb:PutItem"], [data.table.table_arn], _only_under([f"{SIGNING_PREFIX}*"]))
    yield _allow(["sqs:SendMessage"], queues.run_queue_arns())
    yield _allow(["s3:GetObject"], [data.blobs.arn_for_objects("*")])
    yield _allow(["s3:PutObject"], [data.blobs.arn_for_objects(f"{PREFIX}*")])
    # Without it S3 answers 403 to a missing key, and nobody could tell a lost blob from a wrong policy.
    yield _allow(["s3:ListBucket"], [data.blobs.bucket_arn])


def pulling(data: DataStack, queues: QueuesStack, pool: Pool) -> Iterator[iam.PolicyStatement]:
    """Take messages of one's own pool, and be known as its worker."""
    yield _allow(CONSUME, queues.pool_queue_arns(pool))
    yield _allow(["dynamodb:PutItem"], [data.table.table_arn], _only_under([WORKERS_PARTITION]))


def indexing_patterns(data: DataStack) -> iam.PolicyStatement:
    """Enter event jobs into the index of patterns, and take them out."""
    return _allow(["dynamodb:BatchWriteItem"], [data.table.table_arn], _only_under([f"{PATTERN_PREFIX}*"]))


def _allow(
    actions: Sequence[str], resources: Sequence[str], conditions: dict[str, Any] | None = None
) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=actions, resources=resources, conditions=conditions)


def _only_under(partitions: Sequence[str]) -> dict[str, Any]:
    return {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": partitions}}
