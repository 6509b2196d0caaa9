"""`onthedot deploy`: check an account, and deploy a stage to it."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import click

from onthedot.cli.clone import find_root
from onthedot.cli.common.documents import print_document
from onthedot.cli.common.result import result_option, steps
from onthedot.cli.deploying import account, cdk, checks
from onthedot.cli.deploying.assembly import Demands, demands_of
from onthedot.cli.deploying.checks import Check
from onthedot.cli.deploying.context import bootstrap_parameter, read_context
from onthedot.cli.deploying.first_token import TokenText, ask_for_token, token_command
from onthedot.cli.deploying.place import (
    ENDPOINT,
    account_options,
    is_this_machine,
    stage_option,
    use_account,
    variables_of,
)
from onthedot.cli.deploying.result import api_url_of, console_url_of
from onthedot.cli.deploying.shown import has_terminal, require, who_and_where
from onthedot.cli.deploying.stacks_bar import StacksBar, shows_a_bar
from onthedot.cli.text import printable
from onthedot.cli.tokens_place import NewToken, tokens_of_stage

LOG_LINES: Final = 15


@click.command(context_settings={"ignore_unknown_options": True})
@stage_option
@click.option("-c", "--context", multiple=True, metavar="KEY=VALUE", help="A CDK context value; may be repeated.")
@click.option("--yes", is_flag=True, help="Do not ask. Without a terminal nothing is asked anyway.")
@click.option("--token", type=TokenText(), help="Make this token after the deployment, and print it.")
@account_options
@click.argument("cdk_options", nargs=-1, type=click.UNPROCESSED)
@result_option
def deploy(
    *,
    stage: str,
    context: tuple[str, ...],
    yes: bool,
    token: NewToken | None,
    profile: str | None,
    region: str | None,
    endpoint_url: str | None,
    cdk_options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Deploy the stacks to the AWS account of your credentials.

    First it checks the credentials, the context values, the bootstrap of CDK and the quotas of the account. Then it
    runs `cdk deploy`, which gets all other options unchanged, and prints the URL of the API and the next step.

    \b
    Examples:
      onthedot deploy --stage prod -c shards=32 --profile production
      onthedot deploy --stage dev --yes --token acme:operator:ada
    """
    with steps(as_json=as_json):
        root = find_root(Path.cwd())
        known = read_context(root, context)
        if region and known.get("region", region) != region:
            raise click.UsageError(f"--region is {region}, and the context value region is {known['region']}")
        region = region or known.get("region")
        use_account(profile, region, endpoint_url)
        caller, where = who_and_where()
        require(_checks_of_account(caller, where, known))
        assembly = root / "build" / "deploy" / stage
        demands = _synthesized(root, assembly, _context(stage, context))
        require(_checks_of_quotas(demands))
        asks = not yes and has_terminal()
        if asks:
            click.confirm(f"Deploy stage {stage} to account {caller.account} in {where}?", abort=True)
        urls = _show(stage, _deployed(root, assembly, cdk_options, demands.stacks))
        made = _next(stage, token, asks, variables_of(profile, region, endpoint_url))
    if as_json:
        about = {"action": "deploy", "stage": stage, "account": caller.account, "region": where}
        print_document({**about, "stacks": list(demands.stacks), **urls, "token": made})


def _context(stage: str, given: tuple[str, ...]) -> list[str]:
    """Return the context values. An AWS on this machine runs functions with this machine's Python."""
    local = ["local=true"] if is_this_machine(os.environ.get(ENDPOINT)) else []
    return [f"stage={stage}", *local, *given]


def _synthesized(root: Path, assembly: Path, context: list[str]) -> Demands:
    """Write the templates, and return what they ask of an account. End the command when a context value is wrong."""
    assembly.parent.mkdir(parents=True, exist_ok=True)
    log = assembly.with_suffix(".synth.log")
    click.echo("Building the templates …")
    command = cdk.cdk_command(root, *cdk.synth_arguments(assembly, context))
    if cdk.run(command, root, _environment(root), log):
        said = "\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:])
        require([checks.failed("templates", f"they cannot be built: correct the context values\n\n{said}\n")])
    demands = demands_of(assembly)
    require([checks.passed("templates", ", ".join(demands.stacks))])
    return demands


def _checks_of_account(caller: account.Caller, where: str, context: dict[str, Any]) -> Iterator[Check]:
    if wanted := context.get("account"):
        yield checks.judge_account(caller.account, wanted)
    parameter = bootstrap_parameter(context)
    yield _asked("bootstrap", lambda: checks.judge_bootstrap(account.bootstrap_version(parameter), where))


def _checks_of_quotas(demands: Demands) -> Iterator[Check]:
    yield _asked("concurrency", lambda: checks.judge_concurrency(account.concurrency_limit(), demands.concurrency))
    if demands.fargate_cpus:
        yield _asked("Fargate", lambda: checks.judge_fargate(account.fargate_limit(), demands.fargate_cpus))
        yield _asked("ECS", lambda: checks.judge_ecs_role(account.has_ecs_role()))
    if demands.docker:
        yield checks.judge_docker(account.docker_answers())


def _asked(name: str, judge: Callable[[], Check]) -> Check:
    from onthedot.wiring.aws import AWS_ERRORS  # noqa: PLC0415 - needs the AWS packages

    try:
        return judge()
    except AWS_ERRORS as error:
        return checks.unknown(name, error)


def _deployed(root: Path, assembly: Path, options: tuple[str, ...], stacks: tuple[str, ...]) -> dict[str, Any]:
    """Deploy the stacks, and return their outputs by stack. End the command with the exit code of `cdk`."""
    outputs = assembly.with_suffix(".outputs.json")
    outputs.unlink(missing_ok=True)
    directly = is_this_machine(os.environ.get(ENDPOINT))
    arguments = cdk.deploy_arguments(assembly, directly=directly, others=["--outputs-file", str(outputs), *options])
    if code := _followed(root, cdk.cdk_command(root, *arguments), stacks if shows_a_bar(options) else ()):
        click.echo(
            "Error: the deployment failed; the message of `cdk` is above, and the same command tries it again", err=True
        )
        sys.exit(code)
    return dict(json.loads(outputs.read_text())) if outputs.is_file() else {}


def _followed(root: Path, command: list[str], stacks: tuple[str, ...]) -> int:
    """Run `cdk`, with a bar of these stacks, and return its exit code. Without stacks its output is not touched."""
    environment = _environment(root)
    if not stacks:
        return cdk.run(command, root, environment)
    # With a pipe instead of the terminal, `cdk` would leave out its colours.
    coloured = environment if os.environ.get("NO_COLOR") else {**environment, "FORCE_COLOR": "1"}
    with StacksBar(stacks) as bar:
        return cdk.run(command, root, coloured, said=bar.said)


def _environment(root: Path) -> dict[str, str]:
    return cdk.cdk_environment(root, os.environ, os.environ.get(ENDPOINT))


def _show(stage: str, outputs: dict[str, Any]) -> dict[str, str | None]:
    """Print and return the URLs. Options for `cdk` may have left out the stack of the API."""
    click.secho(f"\nStage {stage} is deployed.", bold=True)
    of_api = outputs.get(f"onthedot-{stage}-api")
    if of_api is None:
        return {"api_url": None, "console_url": None}
    url = api_url_of(of_api, os.environ.get(ENDPOINT))
    _line("API", url)
    console = console_url_of(url)
    _line("Console", console)
    return {"api_url": url, "console_url": console}


def _next(stage: str, token: NewToken | None, asks: bool, variables: str) -> dict[str, Any] | None:
    """Make the token that the user wants and return it, or print the command for it, after the variables it needs."""
    new = token
    if new is None and asks:
        new = ask_for_token(tokens_of_stage(stage))
    if new is None:
        _line("Next", variables + token_command(stage))
        return None
    made = tokens_of_stage(stage).create(new)
    _line("Token", made["token"])
    _line("", f"It is shown only now: {new.role} of tenant {printable(new.tenant)}, id {made['id']}")
    return made


def _line(name: str, value: str | None) -> None:
    if value is not None:
        click.echo(f"{name:<9}{value}")
