"""The AwsSolutions rules of cdk-nag for the whole app, and every exception from them, with its reason.

A finding that is not listed here fails `cdk synth`. An entry here that matches no finding fails the tests.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from aws_cdk import Acknowledgment, App, Stack, Validations
from cdk_nag import AwsSolutionsChecks
from constructs import IConstruct

from components.dead_letters import construct_part
from onthedot.core.pools import Pool
from onthedot.core.schema import PASSES, PAYLOADS, RESULTS
from pool_config import Fargate
from stage_config import StageConfig

_FUNCTIONS: Final = {
    "dispatch": ("Planner", "Dispatcher", "Auditor"),
    "workers": ("Worker",),
    "api": ("Api", "Authorizer"),
    "events": ("Events", "Publisher", "Statistics"),
}
_OPEN: Final = ("v1/health/GET", "openapi.json/GET", "console/GET", "console/{proxy+}/GET")
_GUARDED: Final = ("v1/{proxy+}/ANY", "{proxy+}/ANY")
_BLOBS: Final = "ExportsOutputFnGetAttBlobsF0F01DC6Arn220BCD82"
_LOGS_POLICY: Final = "arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs"

_XRAY = "X-Ray has no resources to name: PutTraceSegments takes only *."
_CALLS = "The operator of the stage says * for some calls on its allow-list. A denial keeps them from all that is ours."
_STREAMS = "ListStreams takes only *. The event source finds the table's stream by it."
_METRICS = "GetMetricData takes only *. It reads the age of the queues' oldest messages."


@dataclass(frozen=True, slots=True)
class Suppression:
    """One finding that we accept, at one construct."""

    stack: str
    path: str
    rule: str
    reason: str


def suppressions(config: StageConfig) -> list[Suppression]:
    return [
        *_data_and_queues(),
        *_functions(config),
        *_grants(config),
        *_api(config),
        *_events(config),
        *_fargate(config),
    ]


def _data_and_queues() -> Iterator[Suppression]:
    yield Suppression(
        "data",
        "Blobs/Resource",
        "AwsSolutions-S1",
        "Two roles can reach the bucket, by keys that are in the table. An access log would be larger than the bucket. "
        "Accounts that must have it turn on CloudTrail data events.",
    )
    yield Suppression(
        "queues",
        "ScheduleDlqQueue/Resource",
        "AwsSolutions-SQS3",
        "It is itself the dead-letter queue of the schedule and of the planner, which the rule cannot see.",
    )


def _functions(config: StageConfig) -> Iterator[Suppression]:
    besides = {"Api": _METRICS, "Dispatcher": _METRICS, "Publisher": _STREAMS, "Statistics": _STREAMS}
    for stack, names in _FUNCTIONS.items():
        for name in names:
            why = f"{_XRAY if config.xray else ''} {besides.get(name, '')}".strip()
            if why:
                yield Suppression(stack, f"{name}Role/DefaultPolicy/Resource", "AwsSolutions-IAM5[Resource::*]", why)


def _grants(config: StageConfig) -> Iterator[Suppression]:
    for role, function in (("TickRole", "PlannerFunction7813D2C8"), ("AuditRole", "AuditorFunction4BCE6CF5")):
        yield Suppression(
            "dispatch",
            f"{role}/DefaultPolicy/Resource",
            f"AwsSolutions-IAM5[Resource::<{function}.Arn>:*]",
            "Versions and aliases of the one function. The target's construct grants them with the function.",
        )
    queues = _arn(config, "sqs", config.name("*-dlq"))
    why = "The dead-letter queues of this stage, all of them, to count their messages."
    rule = f"AwsSolutions-IAM5[Resource::{queues}]"
    for stack, role in (("dispatch", "PlannerRole"), ("api", "ApiRole")):
        yield Suppression(stack, f"{role}/DefaultPolicy/Resource", rule, why)
    yield from _blobs(config, "api", "ApiRole/DefaultPolicy/Resource")
    for under in (PAYLOADS, PASSES):
        yield from _blobs(config, "dispatch", "AuditorRole/DefaultPolicy/Resource", under)
    yield from _working(config, "workers", "WorkerRole/DefaultPolicy/Resource")
    yield from _calls(config, "workers", "CallsRole/DefaultPolicy/Resource")


def _arn(config: StageConfig, service: str, resource: str) -> str:
    """Return an ARN as the rules of cdk-nag write it."""
    region, account = config.region or "<AWS::Region>", config.account or "<AWS::AccountId>"
    return f"arn:<AWS::Partition>:{service}:{region}:{account}:{resource}"


def _blobs(config: StageConfig, stack: str, path: str, under: str = "") -> Iterator[Suppression]:
    rule = f"AwsSolutions-IAM5[Resource::{config.name('data')}:{_BLOBS}/{under}*]"
    why = "Objects of the one blob bucket. Their keys name a job or an attempt, or are hashes of their content."
    yield Suppression(stack, path, rule, why)


def _working(config: StageConfig, stack: str, path: str) -> Iterator[Suppression]:
    yield from _blobs(config, stack, path)
    yield from _blobs(config, stack, path, RESULTS)


def _calls(config: StageConfig, stack: str, path: str) -> Iterator[Suppression]:
    """Accept the wildcards of the stage's allow-list in the role of jobs' calls."""
    if any("*" in call.resources for call in config.aws_calls):
        yield Suppression(stack, path, "AwsSolutions-IAM5[Resource::*]", _CALLS)
    functions = [
        name if name.startswith("arn:") else _arn(config, "lambda", f"function:{name}")
        for name in config.lambda_functions
    ]
    called = [resource for call in config.aws_calls for resource in call.resources if resource != "*"]
    for resource in dict.fromkeys(r for r in (*functions, *called) if "*" in r):
        why = "The operator of the stage listed them: its jobs may call these, and the API refuses by the same list."
        yield Suppression(stack, path, f"AwsSolutions-IAM5[Resource::{resource}]", why)


def _events(config: StageConfig) -> Iterator[Suppression]:
    for queue, whose in (
        ("EventsDlqQueue", "the events' rules and function"),
        ("PublisherDlqQueue", "the publisher"),
        ("StatisticsDlqQueue", "the statistics function"),
    ):
        why = f"It is itself the dead-letter queue of {whose}, which the rule cannot see."
        yield Suppression("events", f"{queue}/Resource", "AwsSolutions-SQS3", why)
    yield from _blobs(config, "events", "EventsRole/DefaultPolicy/Resource")


def _fargate(config: StageConfig) -> Iterator[Suppression]:
    pools = [(known.pool, known.fargate) for known in config.pools if known.fargate]
    for pool, fargate in pools:
        yield from _task(config, pool, fargate)
    if any(fargate.shell for _, fargate in pools):
        why = "An API token: a new one is made by the API, not by Secrets Manager, and put there by hand."
        yield Suppression("fargate", "WorkerToken/Resource", "AwsSolutions-SMG4", why)


def _task(config: StageConfig, pool: Pool, fargate: Fargate) -> Iterator[Suppression]:
    task = f"{construct_part(pool.name)}Task"
    why = "Names and addresses, no secrets: the one secret comes from Secrets Manager, as one."
    yield Suppression("fargate", f"{task}/Resource", "AwsSolutions-ECS2", why)
    why = "ecr:GetAuthorizationToken takes only *. Fargate, not the task, gets the image with it."
    path = f"{task}/ExecutionRole/DefaultPolicy/Resource"
    yield Suppression("fargate", path, "AwsSolutions-IAM5[Resource::*]", why)
    if fargate.shell:
        return
    path = f"{task}/TaskRole/DefaultPolicy/Resource"
    yield from _working(config, "fargate", path)
    tasks = _arn(config, "ecs", f"task/{config.name('workers')}/*")
    why = "Tasks of the one cluster, whose ids ECS makes. Each protects itself from scale-in while it has a long run."
    yield Suppression("fargate", path, f"AwsSolutions-IAM5[Resource::{tasks}]", why)


def _api(config: StageConfig) -> Iterator[Suppression]:
    yield Suppression(
        "api",
        "Api/Resource",
        "AwsSolutions-APIG2",
        "The function validates every field and names the wrong one. The gateway's validator would say less.",
    )
    yield Suppression(
        "api",
        "Api/CloudWatchRole/Resource",
        f"AwsSolutions-IAM4[Policy::{_LOGS_POLICY}]",
        "The policy that AWS documents for this account-wide role. Only API Gateway can assume it.",
    )
    yield Suppression(
        "api",
        f"Api/DeploymentStage.{config.stage}/Resource",
        "AwsSolutions-APIG3",
        "A web ACL costs several times the idle system. Everything but four GETs needs a token, the stage is "
        "throttled. An operator who faces the open internet associates an ACL with the stage.",
    )
    for path in _OPEN:
        why = "Open by contract: health check, API description and the console's files contain no data of a tenant."
        yield Suppression("api", f"Api/Default/{path}/Resource", "AwsSolutions-APIG4", why)
    for path in (*_OPEN, *_GUARDED):
        why = "Programs call this API, by bearer tokens that the Lambda authorizer checks. There are no user pools."
        yield Suppression("api", f"Api/Default/{path}/Resource", "AwsSolutions-COG4", why)


def check(app: App, config: StageConfig, stacks: Iterable[Stack]) -> None:
    """Make the synthesis fail on every finding that is not acknowledged above."""
    by_name = {stack.stack_name: stack for stack in stacks}
    for suppression in suppressions(config):
        construct = _find(by_name[config.name(suppression.stack)], suppression.path)
        Validations.of(construct).acknowledge(Acknowledgment(id=suppression.rule, reason=suppression.reason))
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))


def _find(stack: Stack, path: str) -> IConstruct:
    construct: IConstruct = stack
    for part in path.split("/"):
        construct = construct.node.find_child(part)
    return construct
