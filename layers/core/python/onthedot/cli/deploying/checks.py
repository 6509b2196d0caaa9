"""The judgements of `onthedot deploy` before it deploys: each is one line with its reason and the next step."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

BOOTSTRAP_VERSION: Final = 8
"""The version of CDK's bootstrap that the stacks need."""
LAMBDA_QUOTA: Final = "L-B99A9384"
FARGATE_QUOTA: Final = "L-3032A538"
ECS_ROLE: Final = "AWSServiceRoleForECS"
SMALLEST: Final = "-c shards=4 -c worker_concurrency=6 -c long_concurrency=2"
"""The context values with which a stage uses the fewest calls of functions at a time."""


class Outcome(StrEnum):
    """The sign before a line."""

    PASSED = "✓"
    FAILED = "✗"
    UNKNOWN = "?"
    """AWS did not say, for example because the credentials may not ask. The deployment goes on."""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the list."""

    outcome: Outcome
    name: str
    text: str


def passed(name: str, text: str) -> Check:
    return Check(Outcome.PASSED, name, text)


def failed(name: str, text: str) -> Check:
    return Check(Outcome.FAILED, name, text)


def unknown(name: str, error: Exception) -> Check:
    return Check(Outcome.UNKNOWN, name, f"cannot be checked: {error}")


def judge_region(region: str | None) -> Check:
    if not region:
        return failed("region", "no region is chosen: give --region, or set AWS_REGION")
    return passed("region", region)


def judge_credentials(refusal: str) -> Check:
    text = f"AWS does not accept them ({refusal}): sign in again, or set AWS_PROFILE or the AWS keys"
    return failed("credentials", text)


def judge_account(account: str, wanted: str) -> Check:
    """Compare the account of the credentials with the one that the context value names."""
    if account != wanted:
        return failed("account", f"account={wanted} is given, and the credentials are of {account}: change one of them")
    return passed("account", account)


def judge_bootstrap(version: int | None, region: str) -> Check:
    """Say whether CDK can deploy to the region: None means that it was never prepared."""
    if version is None:
        return failed("bootstrap", f"CDK has no bootstrap in {region} of this account: run `onthedot bootstrap` once")
    if version < BOOTSTRAP_VERSION:
        text = f"CDK's bootstrap in {region} has version {version}, less than {BOOTSTRAP_VERSION}"
        return failed("bootstrap", f"{text}: run `onthedot bootstrap`")
    return passed("bootstrap", f"version {version}")


def judge_concurrency(limit: int, needed: int) -> Check:
    """Compare Lambda's limit with the calls that the queues of the stage make. A new account may have a limit of 10."""
    if limit < needed:
        text = (
            f"Lambda runs at most {limit:,} calls at a time here, and the queues of this stage make up to {needed:,}: "
            f"ask for more in Service Quotas ({LAMBDA_QUOTA}), or deploy with {SMALLEST}"
        )
        return failed("concurrency", text)
    return passed("concurrency", f"Lambda runs {limit:,} calls at a time, and the queues make up to {needed:,}")


def judge_fargate(limit: float, needed: float) -> Check:
    """Compare Fargate's limit with the size of all pools at their largest."""
    if limit < needed:
        text = (
            f"Fargate gives {limit:g} CPUs here, and the pools may grow to {needed:g}: ask for more in Service Quotas "
            f"({FARGATE_QUOTA}), or lower max_tasks"
        )
        return failed("Fargate", text)
    return passed("Fargate", f"{limit:g} CPUs, and the pools may grow to {needed:g}")


def judge_ecs_role(there: bool) -> Check:
    """Say whether ECS has its role. ECS makes it with the first cluster, but cannot use it yet at that moment."""
    if not there:
        text = (
            f"this account has no role {ECS_ROLE} yet: run "
            "`aws iam create-service-linked-role --aws-service-name ecs.amazonaws.com` once"
        )
        return failed("ECS", text)
    return passed("ECS", f"has its role {ECS_ROLE}")


def judge_docker(answers: bool) -> Check:
    if not answers:
        text = "a Fargate pool needs Docker to build its image, and `docker info` fails: start Docker"
        return failed("Docker", text)
    return passed("Docker", "answers, for the image of the Fargate pools")
