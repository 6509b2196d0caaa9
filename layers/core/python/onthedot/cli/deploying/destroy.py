"""`onthedot destroy`: delete a stage, and name the things that stay.

It works on the deployed stacks and not on the templates of the clone: these may have changed since, and a pool that is
no longer in the context values may have left a stack behind.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import click

from onthedot.cli.credentials import aws_errors_in_a_sentence
from onthedot.cli.deploying.checks import account_options, find_place, has_terminal, stage_option
from onthedot.cli.output import print_document, result_option, steps

PARTS: Final = ("watch", "fargate", "events", "api", "workers", "dispatch", "queues", "data")
"""The stacks of a stage in the order in which they are deleted. A stack comes before the stacks that it uses."""
BUCKET: Final = "AWS::S3::Bucket"
REASONS: Final = {
    "AWS::DynamoDB::Table": "the jobs of the stage",
    BUCKET: "payloads and results of the jobs",
    "AWS::IAM::Role": "API Gateway writes the logs of all APIs in this region with it",
    "AWS::ApiGateway::Account": "the region's setting that names this role",
    "AWS::Logs::LogGroup": "logs",
}
BOOTSTRAP: Final = {
    "kind": "AWS::CloudFormation::Stack",
    "name": "CDKToolkit",
    "reason": "the bootstrap, which other CDK apps of the account use too",
}
POLL: Final = {"Delay": 3, "MaxAttempts": 1200}
"""Seconds between two looks at a stack that is being deleted, and the number of looks: an hour."""


class Resource(NamedTuple):
    kind: str
    """Its CloudFormation type."""
    name: str
    """Its physical id."""
    kept: bool
    """Whether it outlives its stack, by the template's deletion policy."""


class Stack(NamedTuple):
    name: str
    arn: str
    protected: bool
    """Whether CloudFormation refuses to delete it."""
    resources: tuple[Resource, ...]


@click.command()
@stage_option
@click.option("--yes", is_flag=True, help="Do not ask for the name of the stage.")
@account_options
@result_option
def destroy(*, stage: str, yes: bool, as_json: bool, **account: str | None) -> None:
    """Delete a stage from your AWS account.

    First it lists what will stay, and asks for the name of the stage. Then it deletes the stacks one after another. The
    data stays too, unless the stage is called dev, test or ci, or something like dev-ada.

    \b
    Example:
      onthedot destroy --stage dev
    """
    with steps(as_json=as_json):
        place = find_place(**account)
        from onthedot.wiring.aws import client  # noqa: PLC0415 - needs the AWS packages

        cloudformation, s3 = client("cloudformation"), client("s3")
        with aws_errors_in_a_sentence("the stacks of the stage cannot be read"):
            found = (_find(cloudformation, f"onthedot-{stage}-{part}") for part in PARTS)
            stacks = [stack for stack in found if stack is not None]
        if not stacks:
            raise click.ClickException(f"there is no stage {stage} in {place.region} of account {place.account}")
        _refuse_protected(stacks, place.variables)
        kept = _kept(stacks)
        lines = ["Kept:", *(f"  {one['kind']} {one['name']}: {one['reason']}" for one in kept)]
        from_where = f"These stacks of account {place.account} in {place.region} will be deleted:"
        click.echo("\n".join([from_where, *(f"  {stack.name}" for stack in stacks), *lines]))
        _ask(stage, yes)
        for stack in stacks:
            click.echo(f"Deleting {stack.name} …")
            with aws_errors_in_a_sentence(stack.name):
                _empty_buckets(s3, stack)
                _delete(cloudformation, stack)
        click.echo("\n".join([f"Stage {stage} is deleted.", *lines]))
    if as_json:
        about = {"action": "destroy", "stage": stage, "account": place.account, "region": place.region}
        print_document({**about, "deleted": [stack.name for stack in stacks], "kept": kept})


def _find(cloudformation: Any, name: str) -> Stack | None:
    try:
        [stack] = cloudformation.describe_stacks(StackName=name)["Stacks"]
    except cloudformation.exceptions.ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":
            return None
        raise
    protected = bool(stack.get("EnableTerminationProtection", False))
    return Stack(name, stack["StackId"], protected, tuple(_resources(cloudformation, name)))


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


def _kept(stacks: Sequence[Stack]) -> list[dict[str, str]]:
    kept = [resource for stack in stacks for resource in stack.resources if resource.kept]
    known = [
        {"kind": one.kind, "name": one.name, "reason": REASONS.get(one.kind, "as its template says")} for one in kept
    ]
    return [*known, BOOTSTRAP]


def _refuse_protected(stacks: Sequence[Stack], variables: str) -> None:
    for stack in stacks:
        if stack.protected:
            raise click.ClickException(
                f"{stack.name} has termination protection, because the stage keeps its data; nothing was deleted. "
                f"To delete the stage anyway, first run `{variables}aws cloudformation "
                f"update-termination-protection --no-enable-termination-protection --stack-name {stack.name}`"
            )


def _ask(stage: str, yes: bool) -> None:
    if yes:
        return
    if not has_terminal():
        raise click.ClickException(
            "cannot ask for confirmation without a terminal; give --yes to delete the stage. Nothing was deleted"
        )
    if click.prompt(f"Type {stage} to delete the stage", default="", show_default=False) != stage:
        raise click.ClickException("that is not the name of the stage; nothing was deleted")


def _empty_buckets(s3: Any, stack: Stack) -> None:
    """Delete all objects of the buckets that are deleted with the stack. CloudFormation deletes empty buckets only."""
    for bucket in [one.name for one in stack.resources if one.kind == BUCKET and not one.kept]:
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
            if keys := [{"Key": entry["Key"]} for entry in page.get("Contents", [])]:
                s3.delete_objects(Bucket=bucket, Delete={"Objects": keys, "Quiet": True})


def _delete(cloudformation: Any, stack: Stack) -> None:
    """Delete a stack and return when it is gone. Raise click.ClickException with the reason of CloudFormation."""
    from onthedot.wiring.aws import aws_errors  # noqa: PLC0415 - needs the AWS packages

    cloudformation.delete_stack(StackName=stack.arn)
    try:
        cloudformation.get_waiter("stack_delete_complete").wait(StackName=stack.arn, WaiterConfig=POLL)
    except aws_errors() as error:
        events = cloudformation.describe_stack_events(StackName=stack.arn)["StackEvents"]
        failed = [one for one in events if one["ResourceStatus"] == "DELETE_FAILED" and "ResourceStatusReason" in one]
        why = "; ".join(f"{one['LogicalResourceId']}: {one['ResourceStatusReason']}" for one in failed) or str(error)
        raise click.ClickException(f"{stack.name} cannot be deleted: {why}; correct that and try again") from error
