"""The grants of workers: on Lambda, where Lambda receives the messages, and in tasks that pull messages."""

from collections.abc import Iterator, Sequence
from typing import Any

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam

from allowed_calls import Call
from onthedot.core.pools import Pool
from onthedot.core.schema import (
    DUE,
    GATE_PREFIX,
    LIMITS_PARTITION,
    PATTERN_PREFIX,
    REGISTRIES,
    RESULTS,
    SHARDS_PARTITION,
    SIGNING_PREFIX,
    STATISTICS_PREFIX,
    TOKEN_PREFIX,
    TOKENS_PARTITION,
    WORKERS_PARTITION,
)
from onthedot.observability import NAMESPACE
from stacks.data_stack import DataStack
from stacks.queues_stack import QueuesStack
from stage_config import StageConfig


def calls_role(stack: Stack, config: StageConfig, data: DataStack) -> iam.Role:
    """Make the role of jobs' own AWS calls. It holds the allow-list's grants, and reaches nothing of onthedot.

    A worker assumes it for the targets `lambda` and `aws`. The worker's own role has none of these grants, so a job can
    use neither the worker's rights nor, with an allow-list that says `*`, those on the table of all tenants. It is
    always there, so that a shorter allow-list takes nothing away that a task refers to.

    The account trusts its own principals: each needs a grant of `sts:AssumeRole` too, as a worker elsewhere has it.
    """
    role = iam.Role(
        stack,
        "CallsRole",
        role_name=_role_name(stack, config),
        assumed_by=iam.AccountRootPrincipal(),
        description="What jobs may call by the targets lambda and aws, and no more",
    )
    for statement in _allowed(stack, config.lambda_functions, config.aws_calls):
        role.add_to_policy(statement)
    ours = [*_named(stack), data.blobs.bucket_arn, data.blobs.arn_for_objects("*"), *_code(stack)]
    if config.alarm_topic is not None:
        ours.append(config.alarm_topic)
    role.add_to_policy(iam.PolicyStatement(effect=iam.Effect.DENY, actions=["*"], resources=ours))
    # PutMetricData has no resources to name. A job that writes our metrics could silence an alarm.
    metrics = {"StringEquals": {"cloudwatch:namespace": NAMESPACE}}
    role.add_to_policy(
        iam.PolicyStatement(
            effect=iam.Effect.DENY, actions=["cloudwatch:PutMetricData"], resources=["*"], conditions=metrics
        )
    )
    return role


def _allowed(stack: Stack, functions: Sequence[str], calls: Sequence[Call]) -> Iterator[iam.PolicyStatement]:
    """Yield the grants that allow the calls on the list, and no others."""
    if functions:
        arns = [_function_arn(stack, function) for function in functions]
        yield iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=arns)
    for call in calls:
        yield iam.PolicyStatement(actions=[call.grant], resources=list(call.resources))


def _function_arn(stack: Stack, function: str) -> str:
    if function.startswith("arn:"):
        return function
    return stack.format_arn(
        service="lambda", resource="function", resource_name=function, arn_format=ArnFormat.COLON_RESOURCE_NAME
    )


def calls_role_arn(stack: Stack, config: StageConfig) -> str:
    """Return the ARN, made of names: no stack imports it from another one."""
    return _arn(stack, "iam", f"role/{_role_name(stack, config)}", region="")


def assuming(stack: Stack, config: StageConfig) -> iam.PolicyStatement:
    """Allow a worker to make jobs' calls."""
    return iam.PolicyStatement(actions=["sts:AssumeRole"], resources=[calls_role_arn(stack, config)])


def _role_name(stack: Stack, config: StageConfig) -> str:
    """Return the name. Roles belong to no region, and one account may have a stage in two regions."""
    return config.name(f"calls-{stack.region}")


def _named(stack: Stack) -> Iterator[str]:
    """Yield the ARNs of all that is named after a stage. IAM wants the service of each spelled out.

    They are those of every stage in the account: the table of another one has its tokens and the data of its tenants.
    """
    for service, resource in (
        ("lambda", "function:onthedot-*"),
        ("dynamodb", "table/onthedot-*"),
        ("sqs", "onthedot-*"),
        ("sns", "onthedot-*"),
        ("events", "event-bus/onthedot-*"),
        ("events", "rule/onthedot-*"),
        ("scheduler", "schedule/*/onthedot-*"),
        ("secretsmanager", "secret:onthedot/*"),
        ("logs", "log-group:/aws/lambda/onthedot-*"),
        ("logs", "log-group:/onthedot/*"),
        # API Gateway names the group of a stage's execution logs after the id of the API, which this stack cannot know.
        ("logs", "log-group:API-Gateway-Execution-Logs_*"),
        ("cloudwatch", "alarm:onthedot-*"),
        ("cloudformation", "stack/onthedot-*"),
        ("ecs", "cluster/onthedot-*"),
        ("ecs", "service/onthedot-*"),
        ("ecs", "task/onthedot-*"),
        ("ecs", "task-definition/onthedot-*"),
    ):
        yield _arn(stack, service, resource)
    yield _arn(stack, "iam", "role/onthedot-*", region="")
    yield _arn(stack, "cloudwatch", "dashboard/onthedot-*", region="")
    # CloudFormation names the bucket after its stack.
    yield f"arn:{stack.partition}:s3:::onthedot-*-data-blobs*"


def _code(stack: Stack) -> Iterator[str]:
    """Yield the ARNs by which CDK deploys. A job that replaces a file there would replace our code."""
    yield _arn(stack, "iam", "role/cdk-*", region="")
    yield f"arn:{stack.partition}:s3:::cdk-*-assets-{stack.account}-*"


def _arn(stack: Stack, service: str, resource: str, region: str | None = None) -> str:
    return stack.format_arn(service=service, resource=resource, region=region, arn_format=ArnFormat.NO_RESOURCE_NAME)


TOKEN_KEYS = [f"{TOKEN_PREFIX}*", TOKENS_PARTITION]
"""The partitions of tokens, and of the list of them."""
SEND = ["sqs:SendMessage", "sqs:GetQueueAttributes"]
READS = ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"]
WRITES = ["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:PartiQLInsert", "dynamodb:PartiQLUpdate"]
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
    """Allow to delete the limits of gates and tenants, what else tenants have named, and tokens."""
    deleted = [*(f"{prefix}*" for prefix in REGISTRIES), LIMITS_PARTITION, *TOKEN_KEYS]
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
