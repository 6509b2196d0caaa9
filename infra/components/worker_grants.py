"""The grants of workers: on Lambda, where Lambda receives the messages, and in tasks that pull messages."""

from collections.abc import Iterator, Sequence
from typing import Any

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam

from allowed_calls import grants
from onthedot.domain.workers.pools import Pool
from onthedot.engines.aws.dynamodb.keys import (
    GATE_PREFIX,
    GATES_PREFIX,
    LIMITS_PARTITION,
    PATTERN_PREFIX,
    SHARDS_PARTITION,
    SIGNING_PREFIX,
    TOKEN_PREFIX,
    WORKERS_PARTITION,
)
from onthedot.schema import DUE, RESULTS
from onthedot.targets.aws.clients import USER_AGENT
from stacks.data_stack import DataStack
from stacks.queues_stack import QueuesStack
from stage_config import StageConfig

CONSUME = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"]


def working(data: DataStack, queues: QueuesStack) -> Iterator[iam.PolicyStatement]:
    """Allow to start and finish runs, read payloads and results, store results, send retries, make workflows."""
    yield _allow(["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:UpdateItem"], [data.table.table_arn])
    # The worker that runs a workflow makes its graph. Waiting jobs are notified of the end of their parents in batches.
    yield _allow(["dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate"], [data.table.table_arn])
    # Placing a run reads the limits. Assigning a run to another worker reads the workers. Starting one reads its gates.
    read = [LIMITS_PARTITION, WORKERS_PARTITION, f"{GATE_PREFIX}*"]
    yield _allow(["dynamodb:Query"], [data.table.table_arn], _only_under(read))
    # An attempt that ends wakes a run that waits at its gate.
    yield _allow(["dynamodb:Query"], [data.index_arn(DUE)])
    # The first signed call of a tenant makes its key.
    yield _allow(["dynamodb:PutItem"], [data.table.table_arn], _only_under([f"{SIGNING_PREFIX}*"]))
    yield _allow(["sqs:SendMessage"], queues.run_queue_arns())
    yield _allow(["s3:GetObject"], [data.blobs.arn_for_objects("*")])
    yield _allow(["s3:PutObject"], [data.blobs.arn_for_objects(f"{RESULTS}*")])
    # Without it S3 answers 403 to a missing key, which looks the same as a wrong policy.
    yield _allow(["s3:ListBucket"], [data.blobs.bucket_arn])
    yield no_tokens(data)


def pulling(data: DataStack, queues: QueuesStack, pool: Pool) -> Iterator[iam.PolicyStatement]:
    """Allow to receive messages of this pool, and to register as its worker."""
    yield _allow(CONSUME, queues.pool_queue_arns(pool))
    yield _allow(["dynamodb:PutItem"], [data.table.table_arn], _only_under([WORKERS_PARTITION]))


def indexing_patterns(data: DataStack) -> iam.PolicyStatement:
    """Allow to write event jobs into the index of patterns, and to delete them."""
    return _allow(["dynamodb:BatchWriteItem"], [data.table.table_arn], _only_under([f"{PATTERN_PREFIX}*"]))


def deleting_gates(data: DataStack) -> iam.PolicyStatement:
    """Allow to delete the limits of gates and tenants."""
    return _allow(["dynamodb:DeleteItem"], [data.table.table_arn], _only_under([f"{GATES_PREFIX}*", LIMITS_PARTITION]))


def reading_shards(data: DataStack, *, and_gates: bool = False) -> iam.PolicyStatement:
    """Allow to read the number of shards that writers have used, and the states of gates."""
    read = [SHARDS_PARTITION, f"{GATE_PREFIX}*"] if and_gates else [SHARDS_PARTITION]
    return _allow(["dynamodb:GetItem"], [data.table.table_arn], _only_under(read))


def calling(stack: Stack, config: StageConfig, data: DataStack) -> Iterator[iam.PolicyStatement]:
    """Allow the calls on the stage's list to jobs, and deny jobs the other grants of the same role.

    A job that may read an item reads it with the role that reads the table of all tenants. So the calls of jobs are
    denied on our own resources. IAM recognises these calls by their user agent, which only our code sets.
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
        # The function of the API trusts the caller that its event names, so a job must not invoke it.
        functions = stack.format_arn(
            service="lambda",
            resource="function",
            resource_name=config.name("*"),
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        yield _deny(["lambda:InvokeFunction"], [functions])


def no_tokens(data: DataStack) -> iam.PolicyStatement:
    """Deny access to tokens. Only the authorizer reads them and only operators make them.

    A role that could write a token could act as any tenant.
    """
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
