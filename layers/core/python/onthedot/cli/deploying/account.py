"""Facts about the account of the credentials, as AWS says them. Each call may raise the errors of boto3."""

import os
import subprocess
from typing import Any, Final, NamedTuple

from onthedot.cli.deploying.checks import ECS_ROLE, FARGATE_QUOTA

DOCKER_SECONDS: Final = 20
MISSING_PARAMETER: Final = "ParameterNotFound"
NO_SUCH_QUOTA: Final = "NoSuchResourceException"
NO_SUCH_ROLE: Final = "NoSuchEntity"


class Caller(NamedTuple):
    """The identity of the credentials."""

    account: str
    arn: str


def _client(service: str) -> Any:
    from onthedot.wiring.aws import client  # noqa: PLC0415 - needs the AWS packages

    return client(service)


def _is(error: Exception, code: str) -> bool:
    response: Any = getattr(error, "response", {})
    return bool(response.get("Error", {}).get("Code") == code)


def region() -> str | None:
    """Return the region that boto3 would use, or None."""
    from onthedot.wiring.aws import default_region  # noqa: PLC0415 - needs the AWS packages

    return default_region()


def caller() -> Caller:
    identity = _client("sts").get_caller_identity()
    return Caller(identity["Account"], identity["Arn"])


def bootstrap_version(parameter: str) -> int | None:
    """Return the version of CDK's bootstrap, or None when there is none."""
    try:
        return int(_client("ssm").get_parameter(Name=parameter)["Parameter"]["Value"])
    except Exception as error:
        if _is(error, MISSING_PARAMETER):
            return None
        raise


def concurrency_limit() -> int:
    """Return the calls at a time that Lambda leaves to functions without a reserve of their own."""
    return int(_client("lambda").get_account_settings()["AccountLimit"]["UnreservedConcurrentExecutions"])


def fargate_limit() -> float:
    """Return the CPUs of all Fargate tasks at a time: the account's value, or AWS's default."""
    quotas = _client("service-quotas")
    quota = {"ServiceCode": "fargate", "QuotaCode": FARGATE_QUOTA}
    try:
        found = quotas.get_service_quota(**quota)
    except Exception as error:
        if not _is(error, NO_SUCH_QUOTA):
            raise
        found = quotas.get_aws_default_service_quota(**quota)
    return float(found["Quota"]["Value"])


def has_ecs_role() -> bool:
    """Return whether ECS has its service-linked role in this account."""
    try:
        _client("iam").get_role(RoleName=ECS_ROLE)
    except Exception as error:
        if _is(error, NO_SUCH_ROLE):
            return False
        raise
    return True


def docker_answers() -> bool:
    """Return whether Docker runs on this machine. CDK_DOCKER names another program, as for CDK."""
    command = [os.environ.get("CDK_DOCKER", "docker"), "info"]
    try:
        return subprocess.run(command, capture_output=True, timeout=DOCKER_SECONDS, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
