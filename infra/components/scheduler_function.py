"""The one way to make a Lambda function here: same runtime, tracing, logs and layers, and a role of its own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aws_cdk import Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_

from components.log_group import log_group
from layers.build import LAMBDA_PYTHON
from onthedot.settings import Settings
from stage_config import StageConfig

ROOT: Final = Path(__file__).resolve().parents[2]
# The interpreter that the dependencies layer holds compiled packages for; another one could not import them.
RUNTIME: Final = lambda_.Runtime(f"python{LAMBDA_PYTHON}", lambda_.RuntimeFamily.PYTHON)
ARCHITECTURE: Final = lambda_.Architecture.ARM_64
# What tests and editors leave behind would change the asset's hash, and with it the function, for nothing.
LEFTOVERS: Final = ["**/__pycache__"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionShape:
    """How much of Lambda a function gets."""

    memory_mb: int
    timeout: Duration


class FunctionFactory:
    """Makes the functions of one stack.

    Each stack publishes its own layer versions from the same two assets (uploaded once): a layer version
    exported to other stacks could never be replaced, since CloudFormation refuses to change an export in use.
    """

    def __init__(self, stack: Stack, config: StageConfig, dependencies: Path) -> None:
        self._stack = stack
        self._config = config
        self._layers = [
            # With its bytecode, which the build made on purpose.
            self._layer("DependenciesLayer", lambda_.Code.from_asset(str(dependencies))),
            self._layer("CoreLayer", _source("layers", "core")),
        ]

    def make(self, name: str, settings: Settings, shape: FunctionShape) -> lambda_.Function:
        """The function whose code is `functions/<name>`; grants come from the caller."""
        function_name = self._config.name(name)
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
            tracing=lambda_.Tracing.ACTIVE,
            memory_size=shape.memory_mb,
            timeout=shape.timeout,
            environment=environment(name, settings),
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


def environment(name: str, settings: Settings) -> dict[str, str]:
    """Rendered by the same class that parses it at the function's start, so that the two cannot drift.

    Time zones come from the layer alone: with the machine's own data a run could be judged by two calendars.
    """
    common = {"POWERTOOLS_SERVICE_NAME": name, "LOG_LEVEL": "INFO", "PYTHONTZPATH": ""}
    return {**settings.to_environment(), **common}


def allow(function: lambda_.Function, actions: list[str], resources: list[str]) -> None:
    """Let the function do exactly this; CDK's ready-made grants allow a good deal more than is needed."""
    function.add_to_role_policy(iam.PolicyStatement(actions=actions, resources=resources))
