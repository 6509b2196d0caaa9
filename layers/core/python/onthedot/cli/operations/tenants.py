"""`onthedot tenants`: pause, resume or cancel all jobs of a tenant, or delete all its data, by AWS credentials."""

import json
from dataclasses import asdict
from typing import Final

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from onthedot.cli.limits_place import engine_of_stage, settings_of_stage
from onthedot.cli.text import printable
from onthedot.cli.where import Command, aws_errors_in_a_sentence
from onthedot.domain.errors import InvalidRequest
from onthedot.use_cases.access.delete_tenant import Deleted, delete_tenant
from onthedot.use_cases.access.stop_tenant import Action, change_jobs

AGAIN: Final = "The tenant stands still. Run the same command again to delete the rest."


@click.group()
def tenants() -> None:
    """Pause, resume or cancel a tenant's jobs, or delete its data.

    \b
    Example:
      onthedot tenants pause acme --stage prod
    """


def _stage_option(command: Command) -> Command:
    return click.option(
        "--stage", required=True, metavar="NAME", help="A deployment, reached with your AWS credentials."
    )(command)


def _json_option(command: Command) -> Command:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(command)


@tenants.command("pause")
@click.argument("tenant")
@_stage_option
@_json_option
def pause(tenant: str, stage: str, as_json: bool) -> None:
    """Pause all jobs of TENANT.

    Runs that have not started are skipped. To keep them, use `onthedot limits set --paused`.

    \b
    Example:
      onthedot tenants pause acme --stage prod
    """
    _change(tenant, stage, Action.PAUSE, as_json=as_json)


@tenants.command("resume")
@click.argument("tenant")
@_stage_option
@_json_option
def resume(tenant: str, stage: str, as_json: bool) -> None:
    """Resume all paused jobs of TENANT.

    \b
    Example:
      onthedot tenants resume acme --stage prod
    """
    _change(tenant, stage, Action.RESUME, as_json=as_json)


@tenants.command("cancel")
@click.argument("tenant")
@_stage_option
@click.option("--yes", is_flag=True, help="Do not ask for the name again.")
@_json_option
def cancel(tenant: str, stage: str, yes: bool, as_json: bool) -> None:
    """Cancel all jobs of TENANT for good. Their history stays.

    \b
    Example:
      onthedot tenants cancel acme --stage prod
    """
    if not yes and click.prompt(f"Type the tenant's name to cancel all its jobs in {stage}", err=True) != tenant:
        raise click.ClickException(f"the name is not {printable(tenant)}; nothing was cancelled")
    _change(tenant, stage, Action.CANCEL, as_json=as_json)


def _change(tenant: str, stage: str, action: Action, *, as_json: bool) -> None:
    from onthedot.wiring.aws import tenant_data  # noqa: PLC0415 - needs the AWS packages

    settings = settings_of_stage(stage)
    engine, data = engine_of_stage(settings), tenant_data(settings.table, settings.blob_bucket)
    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} jobs"), TimeElapsedColumn())
    try:
        with (
            aws_errors_in_a_sentence(f"Run the same command again for the rest. {settings.table}"),
            Progress(*columns, console=Console(stderr=True), transient=True) as progress,
        ):
            task = progress.add_task("")
            changed = change_jobs(engine, data, tenant, action, lambda _: progress.advance(task))
    except InvalidRequest as error:
        raise click.ClickException(printable(str(error))) from error
    if as_json:
        click.echo(json.dumps({"tenant": tenant, "action": action, **asdict(changed)}, ensure_ascii=False))
    else:
        click.echo(
            f"{action}: {changed.done:,} jobs of {printable(tenant)} changed, {changed.unchanged:,} not concerned."
        )
    if changed.failed:
        raise click.ClickException(f"{changed.failed:,} jobs could not be changed now; run the same command again")


@tenants.command("delete")
@click.argument("tenant")
@click.option("--stage", required=True, metavar="NAME", help="A deployment, reached with your AWS credentials.")
@click.option("--yes", is_flag=True, help="Do not ask for the name again.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def delete(tenant: str, stage: str, yes: bool, as_json: bool) -> None:
    """Delete all data of TENANT for good: jobs, runs, payloads, results, gates, workers, keys, tokens and limits.

    It takes two minutes at least. First it stops the tenant and revokes its tokens. After a failure, the same command
    deletes the rest.

    \b
    Example:
      onthedot tenants delete acme --stage prod
    """
    shown = printable(tenant)
    if not yes and click.prompt(f"Type the tenant's name to delete all its data in {stage}", err=True) != tenant:
        raise click.ClickException(f"the name is not {shown}; nothing was deleted")
    deleted = _delete(tenant, stage)
    if as_json:
        click.echo(json.dumps({"tenant": tenant, **asdict(deleted)}, ensure_ascii=False))
    else:
        click.echo(f"Tenant {shown} is deleted: {_numbers(deleted)}.")


def _delete(tenant: str, stage: str) -> Deleted:
    from onthedot.wiring.aws import tenant_data  # noqa: PLC0415 - needs the AWS packages

    settings = settings_of_stage(stage)
    engine, data = engine_of_stage(settings), tenant_data(settings.table, settings.blob_bucket)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    try:
        with (
            aws_errors_in_a_sentence(f"{AGAIN} {settings.table}"),
            Progress(*columns, console=Console(stderr=True), transient=True) as progress,
        ):
            task = progress.add_task("")

            def report(step: str, so_far: Deleted) -> None:
                progress.update(task, description=f"{step} ({_numbers(so_far)} so far)")

            return delete_tenant(engine, data, tenant, report)
    except InvalidRequest as error:
        raise click.ClickException(printable(str(error))) from error


def _numbers(deleted: Deleted) -> str:
    return f"{deleted.entries:,} entries, {deleted.blobs:,} blobs and {deleted.tokens:,} tokens"
