"""`onthedot bootstrap` and `deploy`: check an account, call `cdk`, and print the URLs of the stage."""

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click

from onthedot.access.tokens import ROLES, token_problems
from onthedot.cli.deploying import cdk
from onthedot.cli.deploying.cdk import ENDPOINT
from onthedot.cli.deploying.checks import (
    Check,
    Demands,
    account_options,
    checks_of_account,
    checks_of_quotas,
    demands_of,
    find_place,
    has_terminal,
    is_on_this_machine,
    require,
    stage_option,
)
from onthedot.cli.operations.tokens import PATH as TOKENS
from onthedot.cli.operations.tokens import tokens_of_stage
from onthedot.cli.output import print_document, printable, result_option, steps
from onthedot.cli.stacks import find_root

FORM: Final = "TENANT:ROLE:NAME"
_CDK: Final = {"ignore_unknown_options": True}


@click.command(context_settings=_CDK)
@account_options
@click.argument("cdk_options", nargs=-1, type=click.UNPROCESSED)
@result_option
def bootstrap(cdk_options: tuple[str, ...], as_json: bool, **account: str | None) -> None:
    """Prepare an account and a region for deployments.

    Each account and region needs this once. It runs `cdk bootstrap`, which creates the stack CDKToolkit: a bucket and a
    few roles that deployments use. Other options are passed on to `cdk bootstrap`.

    \b
    Example:
      onthedot bootstrap --region eu-west-1
    """
    with steps(as_json=as_json):
        root = find_root(Path.cwd())
        place = find_place(**account)
        # Not in the clone: there `cdk` would find the app and synthesize it, which needs a stage.
        with tempfile.TemporaryDirectory() as elsewhere:
            arguments = [*cdk.bootstrap_arguments(place.account, place.region), *cdk_options]
            if _cdk(root, arguments, Path(elsewhere)):
                raise click.ClickException("the bootstrap failed; see the message of `cdk` above")
        following = f"{place.variables}onthedot deploy --stage dev"
        click.echo(f"\nAccount {place.account} is ready in {place.region}. Next: {following}")
    if as_json:
        print_document({"action": "bootstrap", "account": place.account, "region": place.region})


class TokenText(click.ParamType[dict[str, str]]):
    """The token of `--token`, as the API takes it. One that cannot be made is refused before anything runs."""

    name = FORM

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, str]:
        if isinstance(value, dict):
            return value
        parts = str(value).split(":")
        if len(parts) != 3:
            self.fail(f"{value!r} is not {FORM}; give a value such as acme:operator:ada", param, ctx)
        for problem in token_problems(*parts):
            self.fail(f"{problem.field}: {problem.message}", param, ctx)
        return dict(zip(("tenant", "role", "name"), parts, strict=True))


@click.command(context_settings=_CDK)
@stage_option
@click.option("-c", "--context", multiple=True, metavar="KEY=VALUE", help="A CDK context value; may be repeated.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation. Without a terminal, it never asks.")
@click.option("--token", type=TokenText(), help="Create this token after the deployment, and print it.")
@account_options
@click.argument("cdk_options", nargs=-1, type=click.UNPROCESSED)
@result_option
def deploy(
    *,
    stage: str,
    context: tuple[str, ...],
    yes: bool,
    token: dict[str, str] | None,
    region: str | None,
    cdk_options: tuple[str, ...],
    as_json: bool,
    **account: str | None,
) -> None:
    """Deploy the stacks to your AWS account.

    First it checks the credentials, the context values, the bootstrap of CDK and the quotas of the account. Then it
    runs `cdk deploy`, passing on all other options, and prints the URL of the API and the next step.

    \b
    Examples:
      onthedot deploy --stage prod -c shards=32 --profile production
      onthedot deploy --stage dev --yes --token acme:operator:ada
    """
    with steps(as_json=as_json):
        root = find_root(Path.cwd())
        known = json.loads((root / "cdk.json").read_text()).get("context", {})
        known |= {name: value for name, _, value in (pair.partition("=") for pair in context)}
        if region and known.get("region", region) != region:
            raise click.UsageError(f"--region is {region}, and the context value region is {known['region']}")
        place = find_place(region=region or known.get("region"), **account)
        require(checks_of_account(place.account, place.region, known))
        assembly = root / "build" / "deploy" / stage
        demands = _synthesized(root, assembly, stage, context)
        require(checks_of_quotas(demands))
        asks = not yes and has_terminal()
        if asks:
            click.confirm(f"Deploy stage {stage} to account {place.account} in {place.region}?", abort=True)
        urls = _show_urls(stage, _deployed(root, assembly, cdk_options))
        made = _first_token(stage, token, asks, place.variables)
    if as_json:
        about = {"action": "deploy", "stage": stage, "account": place.account, "region": place.region}
        print_document({**about, "stacks": list(demands.stacks), **urls, "token": made})


def _synthesized(root: Path, assembly: Path, stage: str, given: tuple[str, ...]) -> Demands:
    """End the command when a context value is wrong."""
    assembly.parent.mkdir(parents=True, exist_ok=True)
    # An AWS on this machine runs functions with this machine's Python.
    local = ["local=true"] if is_on_this_machine() else []
    click.echo("Building the templates …")
    if _cdk(root, cdk.synth_arguments(assembly, [f"stage={stage}", *local, *given])):
        why = "they cannot be built: correct the context values; see the message of `cdk` above"
        require([Check("templates", False, why)])
    demands = demands_of(assembly)
    require([Check("templates", True, ", ".join(demands.stacks))])
    return demands


def _deployed(root: Path, assembly: Path, options: tuple[str, ...]) -> dict[str, Any]:
    """Deploy the stacks, and return their outputs by stack. End the command with the exit code of `cdk`."""
    outputs = assembly.with_suffix(".outputs.json")
    outputs.unlink(missing_ok=True)
    others = ["--outputs-file", str(outputs), *options]
    arguments = cdk.deploy_arguments(assembly, directly=is_on_this_machine(), others=others)
    if code := _cdk(root, arguments):
        click.echo(
            "Error: the deployment failed; see the message of `cdk` above, and run the same command again.", err=True
        )
        sys.exit(code)
    return dict(json.loads(outputs.read_text())) if outputs.is_file() else {}


def _cdk(root: Path, arguments: Sequence[str], directory: Path | None = None) -> int:
    environment = cdk.cdk_environment(root, os.environ, os.environ.get(ENDPOINT))
    return cdk.run(cdk.cdk_command(root, *arguments), directory or root, environment)


def _show_urls(stage: str, outputs: dict[str, Any]) -> dict[str, str | None]:
    """Options for `cdk` may have left out the stack of the API."""
    click.secho(f"\nStage {stage} is deployed.", bold=True)
    of_api = outputs.get(f"onthedot-{stage}-api")
    if of_api is None:
        return {"api_url": None, "console_url": None}
    url = cdk.api_url_of(of_api, os.environ.get(ENDPOINT))
    console = f"{url}/console"
    _line("API", url)
    _line("Console", console)
    return {"api_url": url, "console_url": console}


def _first_token(stage: str, new: dict[str, str] | None, asks: bool, variables: str) -> dict[str, Any] | None:
    """Make the token that the user wants and return it, or print the command that makes one."""
    if new is None and asks:
        new = _ask_for_token(stage)
    if new is None:
        command = f"onthedot tokens create --stage {stage} --tenant TENANT --role operator --name NAME"
        _line("Next", variables + command)
        return None
    made: dict[str, Any] = tokens_of_stage(stage).post_once(TOKENS, new)
    _line("Token", made["token"])
    _line("", f"It is shown only now: {new['role']} of tenant {printable(new['tenant'])}, id {made['id']}")
    return made


def _ask_for_token(stage: str) -> dict[str, str] | None:
    """Ask the user for the first token of a stage. Return None if the stage has one, or if the user wants none."""
    tokens = tokens_of_stage(stage).entries(TOKENS, "tokens")
    if next(tokens, None) is not None or not click.confirm("Create a token for the API?", default=True):
        return None
    new = {
        "tenant": click.prompt("Tenant", default="default"),
        "role": click.prompt("Role", default="operator", type=click.Choice(ROLES)),
        "name": click.prompt("Name of its owner", default=os.environ.get("USER") or "first"),
    }
    for problem in token_problems(new["tenant"], new["role"], new["name"]):
        raise click.ClickException(f"{problem.field}: {problem.message}")
    return new


def _line(name: str, value: str) -> None:
    click.echo(f"{name:<9}{value}")
