"""The account that a deployment goes to: its region and credentials, and whether it has what the stacks need.

Each check is one line with its reason and the next step.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import click

from onthedot.cli.deploying.cdk import ENDPOINT
from onthedot.cli.documents import LOOPBACK
from onthedot.cli.options import options

KEYS: Final = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
REGIONS: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
"""boto3 reads one of the two names, and Node's SDK prefers the other."""
STAGE: Final = re.compile(r"[a-z][a-z0-9-]{0,19}")
BOOTSTRAP_VERSION: Final = 8
"""The version of CDK's bootstrap that the stacks need."""
LAMBDA_QUOTA: Final = "L-B99A9384"
FARGATE_QUOTA: Final = "L-3032A538"
ECS_ROLE: Final = "AWSServiceRoleForECS"
SMALLEST: Final = "-c shards=4 -c worker_concurrency=6 -c long_concurrency=2"
"""The context values with which a stage needs the fewest function calls at a time."""
QUALIFIER: Final = "@aws-cdk/core:bootstrapQualifier"
DEFAULT_QUALIFIER: Final = "hnb659fds"
DOCKER_SECONDS: Final = 20
STACK: Final = "aws:cloudformation:stack"
MARKS: Final = {True: ("✓", "green"), False: ("✗", "red"), None: ("?", "yellow")}


def _stage(_context: click.Context, _parameter: click.Parameter, name: str) -> str:
    if not STAGE.fullmatch(name):
        raise click.BadParameter(f"{name!r} cannot name a stage; give up to 20 of a-z, 0-9 and -, beginning with a-z")
    return name


stage_option: Final = click.option(
    "--stage", required=True, metavar="NAME", callback=_stage, help="Name of the deployment, such as dev or prod."
)
account_options: Final = options(
    click.option("--profile", metavar="NAME", help="Profile of your AWS configuration.  [default: AWS_PROFILE]"),
    click.option("--region", metavar="NAME", help="Region to work in.  [default: AWS_REGION, or the profile's]"),
    click.option("--endpoint-url", metavar="URL", help=f"URL of an AWS substitute.  [default: {ENDPOINT}, or AWS]"),
)
"""Adds the options that say which account and region a command works on, for `find_place`."""


class Place(NamedTuple):
    """The account and the region that the options select."""

    variables: str
    """The options as variables to put before a command, so that it works on the same account and region."""
    account: str
    region: str


def find_place(profile: str | None, region: str | None, endpoint_url: str | None) -> Place:
    """Check the credentials, and set the environment to match the options: boto3 and `cdk` both read it.

    A profile replaces keys, as in the AWS command line.
    """
    if endpoint_url is not None and not (endpoint_url.startswith(("http://", "https://")) and _host(endpoint_url)):
        raise click.UsageError(f"{endpoint_url!r} is not an endpoint URL; give one such as http://127.0.0.1:4566")
    given = {"AWS_PROFILE": profile, "AWS_REGION": region, ENDPOINT: endpoint_url}
    if profile is not None:
        for name in (*KEYS, *REGIONS):
            os.environ.pop(name, None)
    os.environ.update({name: value for name, value in given.items() if value})
    if region:
        os.environ.update(dict.fromkeys(REGIONS, region))
    from onthedot.wiring.aws import aws_errors, client, default_region  # noqa: PLC0415 - needs the AWS packages

    try:
        where = default_region()
        require([Check("region", bool(where), where or "no region is set: give --region, or set AWS_REGION")])
        caller = client("sts").get_caller_identity()
    except aws_errors() as error:
        text = f"AWS does not accept them ({error}): sign in again, or set AWS_PROFILE or the AWS keys"
        require([Check("credentials", False, text)])
        raise
    require([Check("credentials", True, f"{caller['Arn']} of account {caller['Account']}")])
    # From here on the region does not depend on the profile, which `cdk` might read differently.
    os.environ.update(dict.fromkeys(REGIONS, str(where)))
    variables = "".join(f"{name}={shlex.quote(value)} " for name, value in given.items() if value)
    return Place(variables, str(caller["Account"]), str(where))


def is_on_this_machine() -> bool:
    """Return whether AWS is a substitute on this machine, where its functions run too."""
    return _host(os.environ.get(ENDPOINT, "")) in LOOPBACK


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


class Check(NamedTuple):
    name: str
    is_fine: bool | None
    """None: AWS did not say, for example because the credentials do not allow the call. The deployment continues."""
    text: str


def require(found: Iterable[Check]) -> None:
    """Print all checks. Raise click.ClickException when one of them failed."""
    failures = 0
    for check in found:
        mark, colour = MARKS[check.is_fine]
        click.echo(f"{click.style(mark, fg=colour)} {check.name:<12} {check.text}")
        failures += check.is_fine is False
    if failures:
        raise click.ClickException("nothing was changed; do what the lines with ✗ say, and try again")


def bootstrap_parameter(context: Mapping[str, Any]) -> str:
    return f"/cdk-bootstrap/{context.get(QUALIFIER, DEFAULT_QUALIFIER)}/version"


def _judged(name: str, is_fine: bool, fine: str, why_not: str) -> Check:
    return Check(name, is_fine, fine if is_fine else why_not)


def checks_of_account(account: str, region: str, context: Mapping[str, Any]) -> Iterator[Check]:
    if wanted := context.get("account"):
        other = f"account={wanted} is given, but the credentials are for {account}: change one of them"
        yield _judged("account", account == wanted, account, other)
    yield _asked("bootstrap", lambda: _bootstrap(bootstrap_parameter(context), region))


def _bootstrap(parameter: str, region: str) -> Check:
    found = _found(lambda: _client("ssm").get_parameter(Name=parameter), missing="ParameterNotFound")
    if found is None:
        why = f"CDK is not bootstrapped in {region} of this account: run `onthedot bootstrap` once"
        return Check("bootstrap", False, why)
    version = int(found["Parameter"]["Value"])
    why = f"CDK's bootstrap in {region} is version {version}, older than {BOOTSTRAP_VERSION}: run `onthedot bootstrap`"
    return _judged("bootstrap", version >= BOOTSTRAP_VERSION, f"version {version}", why)


class Demands(NamedTuple):
    stacks: tuple[str, ...]
    concurrency: int
    """The most function calls that the queues make at a time."""
    fargate_cpus: float
    """CPUs of all Fargate tasks together, when every pool is at its largest."""
    docker: bool
    """Whether an image must be built."""


def demands_of(directory: Path) -> Demands:
    """Read the output of `cdk synth`. Raise OSError, KeyError or ValueError when it has no stacks."""
    artifacts = json.loads((directory / "manifest.json").read_text())["artifacts"]
    stacks = {name: one for name, one in artifacts.items() if one["type"] == STACK}
    templates = [json.loads((directory / one["properties"]["templateFile"]).read_text()) for one in stacks.values()]
    return Demands(
        stacks=tuple(stacks),
        concurrency=sum(_concurrency(template) for template in templates),
        fargate_cpus=sum(_fargate_cpus(template) for template in templates),
        docker=any(json.loads(path.read_text()).get("dockerImages") for path in directory.glob("*.assets.json")),
    )


def _of_type(template: dict[str, Any], kind: str) -> Iterator[dict[str, Any]]:
    for resource in template.get("Resources", {}).values():
        if resource["Type"] == kind:
            yield resource.get("Properties", {})


def _concurrency(template: dict[str, Any]) -> int:
    """Return the calls that queues make at a time. A stream, which has no maximum, makes one now and then."""
    sources = _of_type(template, "AWS::Lambda::EventSourceMapping")
    return sum(int(one.get("ScalingConfig", {}).get("MaximumConcurrency", 0)) for one in sources)


def _fargate_cpus(template: dict[str, Any]) -> float:
    resources = template.get("Resources", {})
    most = {
        json.dumps(one["ResourceId"]): int(one["MaxCapacity"])
        for one in _of_type(template, "AWS::ApplicationAutoScaling::ScalableTarget")
    }
    cpus = 0.0
    for name, resource in resources.items():
        if resource["Type"] == "AWS::ECS::Service":
            task = resources[resource["Properties"]["TaskDefinition"]["Ref"]]["Properties"]
            tasks = sum(count for target, count in most.items() if f'"{name}"' in target)
            cpus += tasks * int(task["Cpu"]) / 1024
    return cpus


def checks_of_quotas(demands: Demands) -> Iterator[Check]:
    yield _asked("concurrency", lambda: _lambda_limit(demands.concurrency))
    if demands.fargate_cpus:
        yield _asked("Fargate", lambda: _fargate_limit(demands.fargate_cpus))
        yield _asked("ECS", _ecs_role)
    if demands.docker:
        why = "a Fargate pool needs Docker to build its image, and `docker info` fails: start Docker"
        yield _judged("Docker", docker_answers(), "is running, to build the image of the Fargate pools", why)


def _lambda_limit(needed: int) -> Check:
    """Compare Lambda's limit with the calls that the queues of the stage make. A new account may have a limit of 10."""
    settings = _client("lambda").get_account_settings()
    limit = int(settings["AccountLimit"]["UnreservedConcurrentExecutions"])
    why = (
        f"Lambda runs at most {limit:,} calls at a time here, but the queues of this stage make up to {needed:,}: "
        f"ask for more in Service Quotas ({LAMBDA_QUOTA}), or deploy with {SMALLEST}"
    )
    fine = f"Lambda runs {limit:,} calls at a time, and the queues make up to {needed:,}"
    return _judged("concurrency", limit >= needed, fine, why)


def _fargate_limit(needed: float) -> Check:
    """Compare the account's limit of CPUs, or AWS's default, with the size of all pools at their largest."""
    quotas, quota = _client("service-quotas"), {"ServiceCode": "fargate", "QuotaCode": FARGATE_QUOTA}
    found = _found(lambda: quotas.get_service_quota(**quota), missing="NoSuchResourceException")
    limit = float((found or quotas.get_aws_default_service_quota(**quota))["Quota"]["Value"])
    why = (
        f"Fargate gives {limit:g} CPUs here, but the pools may grow to {needed:g}: ask for more in Service Quotas "
        f"({FARGATE_QUOTA}), or lower max_tasks"
    )
    return _judged("Fargate", limit >= needed, f"{limit:g} CPUs, and the pools may grow to {needed:g}", why)


def _ecs_role() -> Check:
    """Say whether ECS has its role. ECS creates it with the first cluster, but cannot use it yet then."""
    found = _found(lambda: _client("iam").get_role(RoleName=ECS_ROLE), missing="NoSuchEntity")
    why = (
        f"this account has no role {ECS_ROLE} yet: run "
        "`aws iam create-service-linked-role --aws-service-name ecs.amazonaws.com` once"
    )
    return _judged("ECS", found is not None, f"has its role {ECS_ROLE}", why)


def docker_answers() -> bool:
    """Return whether Docker runs on this machine. CDK_DOCKER names another program, as for CDK."""
    command = [os.environ.get("CDK_DOCKER", "docker"), "info"]
    try:
        return subprocess.run(command, capture_output=True, timeout=DOCKER_SECONDS, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _asked(name: str, check: Callable[[], Check]) -> Check:
    from onthedot.wiring.aws import aws_errors  # noqa: PLC0415 - needs the AWS packages

    try:
        return check()
    except aws_errors() as error:
        return Check(name, None, f"cannot be checked: {error}")


def _client(service: str) -> Any:
    from onthedot.wiring.aws import client  # noqa: PLC0415 - needs the AWS packages

    return client(service)


def _found(call: Callable[[], Any], *, missing: str) -> Any:
    """Return what the call finds, or None if AWS answers with this code that it does not exist."""
    try:
        return call()
    except Exception as error:
        response: Any = getattr(error, "response", {})
        if response.get("Error", {}).get("Code") == missing:
            return None
        raise
