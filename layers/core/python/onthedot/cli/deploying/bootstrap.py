"""`onthedot bootstrap`: prepare an account for deployments."""

import os
import tempfile
from pathlib import Path

import click

from onthedot.cli.clone import find_root
from onthedot.cli.deploying import cdk
from onthedot.cli.deploying.place import ENDPOINT, account_options, use_account, variables_of
from onthedot.cli.deploying.shown import who_and_where


@click.command(context_settings={"ignore_unknown_options": True})
@account_options
@click.argument("cdk_options", nargs=-1, type=click.UNPROCESSED)
def bootstrap(profile: str | None, region: str | None, endpoint_url: str | None, cdk_options: tuple[str, ...]) -> None:
    """Prepare an account and a region for deployments, once.

    It runs `cdk bootstrap`, which makes the stack CDKToolkit: a bucket and a few roles that deployments use. Other
    options are passed to `cdk bootstrap` unchanged.

    \b
    Example:
      onthedot bootstrap --region eu-west-1
    """
    root = find_root(Path.cwd())
    use_account(profile, region, endpoint_url)
    caller, where = who_and_where()
    environment = cdk.cdk_environment(root, os.environ, os.environ.get(ENDPOINT))
    # Not in the clone: there `cdk` would find the app and synthesize it, which needs a stage.
    with tempfile.TemporaryDirectory() as elsewhere:
        command = cdk.cdk_command(root, *cdk.bootstrap_arguments(caller.account, where), *cdk_options)
        code = cdk.run(command, Path(elsewhere), environment)
    again = variables_of(profile, region, endpoint_url)
    if code:
        raise click.ClickException("the bootstrap failed; the message of `cdk` is above")
    click.echo(f"\nAccount {caller.account} is ready in {where}. Next: {again}onthedot deploy --stage dev")
