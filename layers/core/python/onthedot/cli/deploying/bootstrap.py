"""`onthedot bootstrap`: prepare an account for deployments."""

import os
import tempfile
from pathlib import Path

import click

from onthedot.cli.clone import find_root
from onthedot.cli.common.documents import print_document
from onthedot.cli.common.result import result_option, steps
from onthedot.cli.deploying import cdk
from onthedot.cli.deploying.account import Caller
from onthedot.cli.deploying.place import ENDPOINT, account_options, use_account, variables_of
from onthedot.cli.deploying.shown import who_and_where


@click.command(context_settings={"ignore_unknown_options": True})
@account_options
@click.argument("cdk_options", nargs=-1, type=click.UNPROCESSED)
@result_option
def bootstrap(
    *,
    profile: str | None,
    region: str | None,
    endpoint_url: str | None,
    cdk_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Prepare an account and a region for deployments, once.

    It runs `cdk bootstrap`, which makes the stack CDKToolkit: a bucket and a few roles that deployments use. Other
    options are passed to `cdk bootstrap` unchanged.

    \b
    Example:
      onthedot bootstrap --region eu-west-1
    """
    with steps(as_json=as_json):
        caller, where = _bootstrap(profile, region, endpoint_url, cdk_options)
        again = variables_of(profile, region, endpoint_url)
        click.echo(f"\nAccount {caller.account} is ready in {where}. Next: {again}onthedot deploy --stage dev")
    if as_json:
        print_document({"action": "bootstrap", "account": caller.account, "region": where})


def _bootstrap(
    profile: str | None, region: str | None, endpoint_url: str | None, cdk_options: tuple[str, ...]
) -> tuple[Caller, str]:
    """Prepare the account. Return the identity and the region. Raise click.ClickException when `cdk` fails."""
    root = find_root(Path.cwd())
    use_account(profile, region, endpoint_url)
    caller, where = who_and_where()
    environment = cdk.cdk_environment(root, os.environ, os.environ.get(ENDPOINT))
    # Not in the clone: there `cdk` would find the app and synthesize it, which needs a stage.
    with tempfile.TemporaryDirectory() as elsewhere:
        command = cdk.cdk_command(root, *cdk.bootstrap_arguments(caller.account, where), *cdk_options)
        code = cdk.run(command, Path(elsewhere), environment)
    if code:
        raise click.ClickException("the bootstrap failed; the message of `cdk` is above")
    return caller, where
