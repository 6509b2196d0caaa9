"""`onthedot destroy`: delete a stage, and name the things that stay."""

from collections.abc import Iterable, Sequence
from typing import Final

import click

from onthedot.cli.common.documents import print_document
from onthedot.cli.common.result import result_option, steps
from onthedot.cli.deploying.place import account_options, stage_option, use_account, variables_of
from onthedot.cli.deploying.shown import has_terminal, who_and_where
from onthedot.cli.deploying.stage_stacks import (
    DeleteFailed,
    Resource,
    StageStack,
    clients,
    delete,
    empty_buckets,
    stacks_of,
)
from onthedot.cli.where import aws_errors_in_a_sentence

REASONS: Final = {
    "AWS::DynamoDB::Table": "the jobs of the stage",
    "AWS::S3::Bucket": "payloads and results of the jobs",
    "AWS::IAM::Role": "API Gateway writes the logs of all APIs in this region with it",
    "AWS::ApiGateway::Account": "the region's setting that names this role",
    "AWS::Logs::LogGroup": "logs",
}
BOOTSTRAP: Final = "CDKToolkit"


@click.command()
@stage_option
@click.option("--yes", is_flag=True, help="Do not ask for the name of the stage.")
@account_options
@result_option
def destroy(
    *, stage: str, yes: bool, profile: str | None, region: str | None, endpoint_url: str | None, as_json: bool
) -> None:
    """Delete a stage from the AWS account of your credentials.

    It deletes the stacks of the stage one after another. First it names the things that stay, and asks for the name of
    the stage. The data stays too, unless the stage is called dev, test or ci, also with a suffix such as dev-ada.

    \b
    Example:
      onthedot destroy --stage dev
    """
    with steps(as_json=as_json):
        use_account(profile, region, endpoint_url)
        caller, where = who_and_where()
        cloudformation, s3 = clients()
        with aws_errors_in_a_sentence("the stacks of the stage cannot be read"):
            stacks = stacks_of(cloudformation, stage)
        if not stacks:
            raise click.ClickException(f"there is no stage {stage} in {where} of account {caller.account}")
        _refuse_protected(stacks, variables_of(profile, region, endpoint_url))
        kept = kept_lines(stacks)
        from_where = f"These stacks of account {caller.account} in {where} are deleted:"
        click.echo("\n".join([from_where, *_names(stacks), *kept]))
        _ask(stage, yes)
        for stack in stacks:
            with aws_errors_in_a_sentence(stack.name):
                empty_buckets(s3, stack)
                _delete(cloudformation, stack)
        click.echo("\n".join([f"Stage {stage} is deleted.", *kept]))
    if as_json:
        about = {"action": "destroy", "stage": stage, "account": caller.account, "region": where}
        print_document({**about, "deleted": [stack.name for stack in stacks], "kept": kept_things(stacks)})


def kept_things(stacks: Iterable[StageStack]) -> list[dict[str, str]]:
    """Return everything that outlives the stacks, each with its reason."""
    kept = [resource for stack in stacks for resource in stack.resources if resource.kept]
    bootstrap = Resource("AWS::CloudFormation::Stack", BOOTSTRAP, kept=True)
    reasons = {**REASONS, bootstrap.kind: "the bootstrap, which other CDK apps of the account use too"}
    return [
        {"kind": one.kind, "name": one.name, "reason": reasons.get(one.kind, "as its template says")}
        for one in (*kept, bootstrap)
    ]


def kept_lines(stacks: Iterable[StageStack]) -> list[str]:
    """Return the lines that name everything that outlives the stacks."""
    return ["Kept:", *(f"  {one['kind']} {one['name']}: {one['reason']}" for one in kept_things(stacks))]


def _names(stacks: Sequence[StageStack]) -> list[str]:
    return [f"  {stack.name}" for stack in stacks]


def _refuse_protected(stacks: Sequence[StageStack], variables: str) -> None:
    for stack in stacks:
        if stack.protected:
            raise click.ClickException(
                f"{stack.name} has termination protection, because the stage keeps its data; nothing was deleted. "
                f"To delete the stage all the same, first run `{variables}aws cloudformation "
                f"update-termination-protection --no-enable-termination-protection --stack-name {stack.name}`"
            )


def _ask(stage: str, yes: bool) -> None:
    if yes:
        return
    if not has_terminal():
        raise click.ClickException(
            "there is no terminal to ask on; give --yes to delete the stage. Nothing was deleted"
        )
    if click.prompt(f"Type {stage} to delete the stage", default="", show_default=False) != stage:
        raise click.ClickException("that is another name; nothing was deleted")


def _delete(cloudformation: object, stack: StageStack) -> None:
    click.echo(f"Deleting {stack.name} …")
    try:
        delete(cloudformation, stack)
    except DeleteFailed as error:
        raise click.ClickException(f"{stack.name} cannot be deleted: {error}; correct that and try again") from error
