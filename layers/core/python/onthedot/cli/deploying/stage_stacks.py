"""The stacks of a stage as CloudFormation knows them, for `onthedot destroy`. Calls may raise the errors of boto3.

Destroying works on the deployed stacks and not on the templates of the clone: these may have changed since, and a pool
that is no longer in the context values may have left a stack behind.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

PARTS: Final = ("watch", "fargate", "events", "api", "workers", "dispatch", "queues", "data")
"""The stacks of a stage in the order in which they are deleted. A stack comes before the stacks that it uses."""
BUCKET: Final = "AWS::S3::Bucket"
POLL: Final = {"Delay": 3, "MaxAttempts": 1200}
"""Seconds between two looks at a stack that is being deleted, and the number of looks: an hour."""
NO_SUCH_STACK: Final = "ValidationError"


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource of a stack."""

    kind: str
    """Its CloudFormation type."""
    name: str
    """Its physical id."""
    kept: bool
    """Whether it outlives its stack, by the template's deletion policy."""


@dataclass(frozen=True, slots=True)
class StageStack:
    """A deployed stack of a stage."""

    name: str
    arn: str
    protected: bool
    """Whether CloudFormation refuses to delete it."""
    resources: tuple[Resource, ...]


class DeleteFailed(Exception):
    """CloudFormation could not delete a stack. The message has its reason."""


def clients() -> tuple[Any, Any]:
    """Return the clients of CloudFormation and S3."""
    from onthedot.wiring.aws import client  # noqa: PLC0415 - needs the AWS packages

    return client("cloudformation"), client("s3")


def stacks_of(cloudformation: Any, stage: str) -> list[StageStack]:
    """Return the stacks of the stage that exist, in the order in which they are deleted."""
    found = (_find(cloudformation, f"onthedot-{stage}-{part}") for part in PARTS)
    return [stack for stack in found if stack is not None]


def _find(cloudformation: Any, name: str) -> StageStack | None:
    try:
        [stack] = cloudformation.describe_stacks(StackName=name)["Stacks"]
    except cloudformation.exceptions.ClientError as error:
        if error.response["Error"]["Code"] == NO_SUCH_STACK:
            return None
        raise
    protected = bool(stack.get("EnableTerminationProtection", False))
    return StageStack(name, stack["StackId"], protected, tuple(_resources(cloudformation, name)))


def _resources(cloudformation: Any, name: str) -> Iterator[Resource]:
    template = cloudformation.get_template(StackName=name, TemplateStage="Processed")["TemplateBody"]
    written = template["Resources"]
    for page in cloudformation.get_paginator("list_stack_resources").paginate(StackName=name):
        for one in page["StackResourceSummaries"]:
            policy = written.get(one["LogicalResourceId"], {}).get("DeletionPolicy", "Delete")
            # A deletion that failed halfway leaves a stack that still lists the resources that are gone.
            physical = one.get("PhysicalResourceId")
            if physical and one["ResourceStatus"] != "DELETE_COMPLETE":
                yield Resource(one["ResourceType"], physical, kept=policy.startswith("Retain"))


def empty_buckets(s3: Any, stack: StageStack) -> None:
    """Delete all objects of the buckets that are deleted with the stack. CloudFormation deletes empty buckets only."""
    for bucket in [one.name for one in stack.resources if one.kind == BUCKET and not one.kept]:
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
            if keys := [{"Key": entry["Key"]} for entry in page.get("Contents", [])]:
                s3.delete_objects(Bucket=bucket, Delete={"Objects": keys, "Quiet": True})


def delete(cloudformation: Any, stack: StageStack) -> None:
    """Delete a stack and return when it is gone. Raise DeleteFailed with the reason of CloudFormation."""
    from onthedot.wiring.aws import AWS_ERRORS  # noqa: PLC0415 - needs the AWS packages

    cloudformation.delete_stack(StackName=stack.arn)
    try:
        cloudformation.get_waiter("stack_delete_complete").wait(StackName=stack.arn, WaiterConfig=POLL)
    except AWS_ERRORS as error:
        raise DeleteFailed(_reason(cloudformation, stack) or str(error)) from error


def _reason(cloudformation: Any, stack: StageStack) -> str | None:
    events = cloudformation.describe_stack_events(StackName=stack.arn)["StackEvents"]
    failures = [one for one in events if one["ResourceStatus"] == "DELETE_FAILED" and "ResourceStatusReason" in one]
    return "; ".join(f"{one['LogicalResourceId']}: {one['ResourceStatusReason']}" for one in failures) or None
