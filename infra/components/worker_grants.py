"""What those who run jobs may do, in one place: on Lambda, where Lambda takes the messages, and in tasks that pull."""

from collections.abc import Iterator, Sequence
from typing import Any

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam

from allowed_calls import grants
from onthedot.domain.workers.pools import Pool
from onthedot.engines.aws.dynamodb.keys import (
    LIMITS_PARTITION,
    PATTERN_PREFIX,
    SIGNING_PREFIX,
    TOKEN_PREFIX,
    WORKERS_PARTITION,
)
from onthedot.schema import RESULTS
from onthedot.targets.aws.clients import USER_AGENT
from stacks.data_stack import DataStack
from stacks.queues_stack import QueuesStack
from stage_config import StageConfig

CONSUME = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"]


def working(data: DataStack, queues: QueuesStack) -> Iterator[iam.PolicyStatement]:
    """Start and finish runs, read payloads and parents' results, put results away, send retries, make workflows."""
    yield _allow(["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:UpdateItem"], [data.table.table_arn])
    # A workflow's graph is made by whoever runs it, and waiting jobs hear of their parents' end together.
    yield _allow(["dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate"], [data.table.table_arn])
    # What is placed anew asks for the limits; what another worker must do, for the workers.
    yield _allow(["dynamodb:Query"], [data.table.table_arn], _only_under([LIMITS_PARTITION, WORKERS_PARTITION]))
    # A tenant's first signed call makes its key.
    yield _allow(["dynamodb:PutItem"], [data.table.table_arn], _only_under([f"{SIGNING_PREFIX}*"]))
    yield _allow(["sqs:SendMessage"], queues.run_queue_arns())
    yield _allow(["s3:GetObject"], [data.blobs.arn_for_objects("*")])
    yield _allow(["s3:PutObject"], [data.blobs.arn_for_objects(f"{RESULTS}*")])
    # Without it S3 answers 403 to a missing key, and nobody could tell a lost blob from a wrong policy.
    yield _allow(["s3:ListBucket"], [data.blobs.bucket_arn])
    yield no_tokens(data)


def pulling(data: DataStack, queues: QueuesStack, pool: Pool) -> Iterator[iam.PolicyStatement]:
    """Take messages of one's own pool, and be known as its worker."""
    yield _allow(CONSUME, queues.pool_queue_arns(pool))
    yield _allow(["dynamodb:PutItem"], [data.table.table_arn], _only_under([WORKERS_PARTITION]))


def indexing_patterns(data: DataStack) -> iam.PolicyStatement:
    """Enter event jobs into the index of patterns, and take them out."""
    return _allow(["dynamodb:BatchWriteItem"], [data.table.table_arn], _only_under([f"{PATTERN_PREFIX}*"]))


def calling(stack: Stack, config: StageConfig, data: DataStack) -> Iterator[iam.PolicyStatement]:
    """Do in a job's name what is on the stage's list, and nothing of what the same role may do in its own.

    A job that may get an item gets it with the role that reads the table of all tenants. So what is ours is closed to
    jobs' calls, which are known by their user agent: it is our own code that sends it, and no input can change it.
    """
    allowed = config.allow_list
    yield from grants(stack, allowed)
    if allowed.calls:
        queues = stack.format_arn(service="sqs", resource=config.name("*"))
        table, blobs = data.table.table_arn, data.blobs
        ours = [table, f"{table}/index/*", blobs.bucket_arn, blobs.arn_for_objects("*"), queues]
        by_jobs = {"StringLike": {"aws:UserAgent": f"{USER_AGENT}/*"}}
        yield _deny(["dynamodb:*", "s3:*", "sqs:*"], ours, by_jobs)
    if allowed.functions or allowed.calls:
        # The API's function believes what its event says about who calls.
        functions = stack.format_arn(
            service="lambda",
            resource="function",
            resource_name=config.name("*"),
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        yield _deny(["lambda:InvokeFunction"], [functions])


def no_tokens(data: DataStack) -> iam.PolicyStatement:
    """Tokens are for the authorizer to read, and for people to make: who could write one could be anybody."""
    under = {"ForAnyValue:StringLike": {"dynamodb:LeadingKeys": [f"{TOKEN_PREFIX}*"]}}
    return _deny(["dynamodb:*"], [data.table.table_arn], under)


def _deny(
    actions: Sequence[str], resources: Sequence[str], conditions: dict[str, Any] | None = None
) -> iam.PolicyStatement:
    return iam.PolicyStatement(effect=iam.Effect.DENY, actions=actions, resources=resources, conditions=conditions)


def _allow(
    actions: Sequence[str], resources: Sequence[str], conditions: dict[str, Any] | None = None
) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=actions, resources=resources, conditions=conditions)


def _only_under(partitions: Sequence[str]) -> dict[str, Any]:
    return {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": partitions}}
