"""The grants of workers: on Lambda, where Lambda receives the messages, and in tasks that pull messages."""

from collections.abc import Iterator, Sequence
from typing import Any

from aws_cdk import aws_iam as iam

from onthedot.core.keys import (
    GATE_PREFIX,
    GATES_PREFIX,
    LIMITS_PARTITION,
    PATTERN_PREFIX,
    SHARDS_PARTITION,
    SIGNING_PREFIX,
    STATISTICS_PREFIX,
    TOKEN_PREFIX,
    TOKENS_PARTITION,
    WORKERS_PARTITION,
)
from onthedot.domain.workers.pools import Pool
from onthedot.schema import DUE, RESULTS
from stacks.data_stack import DataStack
from stacks.queues_stack import QueuesStack

TOKEN_KEYS = [f"{TOKEN_PREFIX}*", TOKENS_PARTITION]
"""The partitions of tokens, and of the list of them."""
SEND = ["sqs:SendMessage", "sqs:GetQueueAttributes"]
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
    yield _allow(["s3:GetObject"], [data.blobs.arn_for_objects("*")])
    yield _allow(["s3:PutObject"], [data.blobs.arn_for_objects(f"{RESULTS}*")])
    # Without it S3 answers 403 to a missing key, which looks the same as a wrong policy.
    yield _allow(["s3:ListBucket"], [data.blobs.bucket_arn])
    yield no_tokens(data)
    for arns in queues.run_queue_arns():
        yield _allow(["sqs:SendMessage"], arns)


def pulling(data: DataStack, queues: QueuesStack, pool: Pool) -> Iterator[iam.PolicyStatement]:
    """Allow to receive messages of this pool, and to register as its worker."""
    yield _allow(CONSUME, queues.pool_queue_arns(pool))
    yield _allow(["dynamodb:PutItem"], [data.table.table_arn], _only_under([WORKERS_PARTITION]))


def indexing_patterns(data: DataStack) -> iam.PolicyStatement:
    """Allow to write event jobs into the index of patterns, and to delete them."""
    return _allow(["dynamodb:BatchWriteItem"], [data.table.table_arn], _only_under([f"{PATTERN_PREFIX}*"]))


def deleting_gates_and_tokens(data: DataStack) -> iam.PolicyStatement:
    """Allow to delete the limits of gates and tenants, and tokens."""
    deleted = [f"{GATES_PREFIX}*", LIMITS_PARTITION, *TOKEN_KEYS]
    return _allow(["dynamodb:DeleteItem"], [data.table.table_arn], _only_under(deleted))


def reading_shards(data: DataStack, *, and_gates: bool = False) -> iam.PolicyStatement:
    """Allow to read the number of shards that writers have used, and the states of gates."""
    read = [SHARDS_PARTITION, f"{GATE_PREFIX}*"] if and_gates else [SHARDS_PARTITION]
    return _allow(["dynamodb:GetItem"], [data.table.table_arn], _only_under(read))


def reading_workers(data: DataStack) -> iam.PolicyStatement:
    """Allow to list the workers."""
    return _allow(["dynamodb:Query"], [data.table.table_arn], _only_under([WORKERS_PARTITION]))


def counting_ends(data: DataStack) -> iam.PolicyStatement:
    """Allow to write the counters of ended runs."""
    return _allow(["dynamodb:UpdateItem"], [data.table.table_arn], _only_under([f"{STATISTICS_PREFIX}*"]))


def no_tokens(data: DataStack, *actions: str) -> iam.PolicyStatement:
    """Deny access to tokens, by these actions or by any. Only the authorizer reads them, only the API writes them.

    A role that could write a token could act as any tenant.
    """
    under = {"ForAnyValue:StringLike": {"dynamodb:LeadingKeys": TOKEN_KEYS}}
    return _deny(list(actions) or ["dynamodb:*"], [data.table.table_arn], under)


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
