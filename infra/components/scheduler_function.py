"""The factory of all Lambda functions: same runtime, tracing, logs and layers, and one role for each function."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from components.worker_grants import calls_role_arn
from layers.build import LAMBDA_PYTHON
from onthedot.core.pools import pools_to_text
from onthedot.settings import Settings, WorkerSettings
from onthedot.targets import rules
from stacks.data_stack import DataStack
from stacks.queues_stack import QueuesStack
from stage_config import RETENTION, StageConfig


def log_group(scope: Construct, construct_id: str, name: str, config: StageConfig) -> logs.LogGroup:
    """Make a log group that is deleted with its stack.

    Its name is fixed, so a retained group would make the next deployment fail.
    """
    return logs.LogGroup(
        scope,
        construct_id,
        log_group_name=name,
        retention=logs.RetentionDays[RETENTION[config.log_retention_days]],
        removal_policy=RemovalPolicy.DESTROY,
    )


def store_settings(config: StageConfig, data: DataStack, queues: QueuesStack) -> dict[str, Any]:
    return {
        "stage": config.stage,
        "table": data.table.table_name,
        "shards": config.shards,
        "lookahead": config.lookahead,
        "history_days": config.history_days,
        "backlog_limit": config.backlog_limit,
        "queue_base": queues.base,
        "pools": pools_to_text(config.all_pools),
        "detailed_metrics": config.detailed_metrics,
    }


def worker_settings(config: StageConfig, data: DataStack, queues: QueuesStack) -> WorkerSettings:
    """Return the settings of a worker: a function, a task, or a process elsewhere that has AWS credentials."""
    return WorkerSettings(
        **store_settings(config, data, queues),
        blob_bucket=data.blobs.bucket_name,
        allow_list=rules.to_json(config.allow_list),
        allow_private_targets=config.local,
        calls_role=calls_role_arn(data, config),
    )


def schedule_role(stack: Stack, construct_id: str) -> iam.Role:
    """Make a role that only schedules of this account can assume, not those of another account."""
    ours = {"StringEquals": {"aws:SourceAccount": stack.account}}
    principal = iam.ServicePrincipal("scheduler.amazonaws.com", conditions=ours)
    return iam.Role(stack, construct_id, assumed_by=principal)


ROOT: Final = Path(__file__).resolve().parents[2]
# The dependencies layer has packages that are compiled for this interpreter. Another one could not import them.
RUNTIME: Final = lambda_.Runtime(f"python{LAMBDA_PYTHON}", lambda_.RuntimeFamily.PYTHON)
ARCHITECTURE: Final = lambda_.Architecture.ARM_64
# Files that tests leave behind would change the hash of the asset, and so update the function without need.
LEFTOVERS: Final = ["**/__pycache__"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionShape:
    memory_mb: int
    timeout: Duration


class FunctionFactory:
    """The factory of the functions of one stack.

    Each stack publishes its own layer versions from the same two assets, which are uploaded once. A layer version that
    is exported to other stacks could never be replaced, since CloudFormation refuses to change an export in use.
    """

    def __init__(self, stack: Stack, config: StageConfig, dependencies: Path) -> None:
        self._stack = stack
        self._config = config
        self._layers = [
            # Bytecode is not excluded: `layers.build` compiled it for a faster cold start.
            self._layer("DependenciesLayer", lambda_.Code.from_asset(str(dependencies))),
            self._layer("CoreLayer", _source("layers", "core")),
        ]

    def make(self, name: str, settings: Settings, shape: FunctionShape, *, may_loop: bool = False) -> lambda_.Function:
        """Make the function whose code is `functions/<name>`. The caller adds the grants.

        A function that `may_loop` gets messages that it sent itself. Without this, Lambda stops a chain of about 16.
        """
        function_name = self._config.name(name)
        # Time zones come from the layer only. With the data of the machine, two parts could compute different fire
        # times for one run.
        common = {"POWERTOOLS_SERVICE_NAME": name, "LOG_LEVEL": "INFO", "PYTHONTZPATH": ""}
        role = self._role(name)
        logs = log_group(self._stack, f"{name.capitalize()}Logs", f"/aws/lambda/{function_name}", self._config)
        logs.grant_write(role)
        return lambda_.Function(
            self._stack,
            f"{name.capitalize()}Function",
            function_name=function_name,
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
            handler="handler.handle",
            code=_source("functions", name),
            layers=self._layers,
            role=role,
            log_group=logs,
            tracing=lambda_.Tracing.ACTIVE if self._config.xray else lambda_.Tracing.DISABLED,
            memory_size=shape.memory_mb,
            timeout=shape.timeout,
            recursive_loop=lambda_.RecursiveLoop.ALLOW if may_loop else None,
            environment={**settings.to_environment(), **common},
        )

    def _layer(self, construct_id: str, code: lambda_.Code) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self._stack,
            construct_id,
            code=code,
            compatible_runtimes=[RUNTIME],
            compatible_architectures=[ARCHITECTURE],
        )

    def _role(self, name: str) -> iam.Role:
        return iam.Role(
            self._stack,
            f"{name.capitalize()}Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"What the {name} function may do, and no more",
        )


def _source(*path: str) -> lambda_.Code:
    return lambda_.Code.from_asset(str(ROOT.joinpath(*path)), exclude=LEFTOVERS)


def allow(function: lambda_.Function, actions: list[str], resources: list[str]) -> None:
    """Grant the function exactly these actions. The ready-made grants of CDK allow more than is needed."""
    function.add_to_role_policy(iam.PolicyStatement(actions=actions, resources=resources))
