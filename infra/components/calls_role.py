"""The role of jobs' own AWS calls. It holds the grants of the stage's allow-list, and reaches nothing of onthedot.

A worker assumes it for the targets `lambda` and `aws`. The worker's own role has none of these grants, so a job can use
neither the worker's rights nor, with an allow-list that says `*`, those on the table of all tenants.
"""

from collections.abc import Iterator

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam

from allowed_calls import grants
from onthedot.observability import NAMESPACE
from stacks.data_stack import DataStack
from stage_config import StageConfig


def calls_role(stack: Stack, config: StageConfig, data: DataStack) -> iam.Role:
    """Make the role. It is always there, so that a shorter allow-list takes nothing away that a task refers to.

    The account trusts its own principals: each needs a grant of `sts:AssumeRole` too, as a worker elsewhere has it.
    """
    role = iam.Role(
        stack,
        "CallsRole",
        role_name=_role_name(stack, config),
        assumed_by=iam.AccountRootPrincipal(),
        description="What jobs may call by the targets lambda and aws, and no more",
    )
    for statement in grants(stack, config.lambda_functions, config.aws_calls):
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
