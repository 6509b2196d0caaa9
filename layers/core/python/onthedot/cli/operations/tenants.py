"""`onthedot tenants`: pause, resume or cancel all jobs of a tenant, or delete all its data, by AWS credentials."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Final

import click

from onthedot.access.tenants import Action, Deleted, change_jobs, delete_tenant
from onthedot.cli.credentials import aws_errors_in_a_sentence, required_stage, stage_settings
from onthedot.cli.options import options
from onthedot.cli.output import Bar, counted, document_option, print_document, printable, progress
from onthedot.core.errors import InvalidRequest
from onthedot.engine import Engine

_on_stage: Final = options(click.argument("tenant"), required_stage)
_yes_option: Final = click.option("--yes", is_flag=True, help="Do not ask to type the name of the tenant.")


@click.group()
def tenants() -> None:
    """Pause, resume or cancel a tenant's jobs, or delete its data.

    \b
    Example:
      onthedot tenants pause acme --stage prod
    """


@tenants.command()
@_on_stage
@document_option
def pause(tenant: str, stage: str, as_json: bool) -> None:
    """Pause all jobs of TENANT.

    Runs that have not started are skipped. To keep them, use `onthedot limits set --paused`.

    \b
    Example:
      onthedot tenants pause acme --stage prod
    """
    _change(tenant, stage, Action.PAUSE, as_json=as_json)


@tenants.command()
@_on_stage
@document_option
def resume(tenant: str, stage: str, as_json: bool) -> None:
    """Resume all paused jobs of TENANT.

    \b
    Example:
      onthedot tenants resume acme --stage prod
    """
    _change(tenant, stage, Action.RESUME, as_json=as_json)


@tenants.command()
@_on_stage
@_yes_option
@document_option
def cancel(tenant: str, stage: str, yes: bool, as_json: bool) -> None:
    """Cancel all jobs of TENANT for good. Their history stays.

    \b
    Example:
      onthedot tenants cancel acme --stage prod
    """
    _ask(tenant, f"cancel all its jobs in {stage}", "cancelled", yes)
    _change(tenant, stage, Action.CANCEL, as_json=as_json)


@tenants.command()
@_on_stage
@_yes_option
@document_option
def delete(tenant: str, stage: str, yes: bool, as_json: bool) -> None:
    """Delete all data of TENANT for good: jobs, runs, payloads, results, gates, workers, keys, tokens and limits.

    This takes at least two minutes. First it stops the tenant and revokes its tokens. If it fails midway, run the same
    command again to delete the rest.

    \b
    Example:
      onthedot tenants delete acme --stage prod
    """
    _ask(tenant, f"delete all its data in {stage}", "deleted", yes)
    with _data_of(stage, "The tenant is stopped. Run the same command again to delete the rest.") as (
        engine,
        data,
        bar,
    ):
        deleted = delete_tenant(
            engine, data, tenant, lambda step, so_far: bar.say(f"{step} ({_numbers(so_far)} so far)")
        )
    if as_json:
        print_document({"tenant": tenant, **asdict(deleted)})
    else:
        click.echo(f"Tenant {printable(tenant)} is deleted: {_numbers(deleted)}.")


def _ask(tenant: str, what: str, done: str, yes: bool) -> None:
    if not yes and click.prompt(f"Type the tenant's name to {what}", err=True) != tenant:
        raise click.ClickException(f"the name is not {printable(tenant)}; nothing was {done}")


def _change(tenant: str, stage: str, action: Action, *, as_json: bool) -> None:
    with _data_of(stage, "Run the same command again for the rest.") as (engine, data, bar):
        changed = change_jobs(engine, data, tenant, action, lambda so_far: bar.say(f"{so_far.done:,} jobs"))
    if as_json:
        print_document({"tenant": tenant, "action": action, **asdict(changed)})
    else:
        what = f"{counted(changed.done, 'job')} of {printable(tenant)} changed"
        click.echo(f"{action}: {what}, {changed.unchanged:,} left unchanged.")
    if changed.failed:
        raise click.ClickException(f"could not change {counted(changed.failed, 'job')} now; run the same command again")


@contextmanager
def _data_of(stage: str, again: str) -> Iterator[tuple[Engine, Any, Bar]]:
    """Give the engine and the data of a stage, and a bar. A failure says `again` and why."""
    from onthedot.wiring.aws import tenant_data, worker_engine  # noqa: PLC0415 - needs the AWS packages

    settings = stage_settings(stage)
    try:
        with aws_errors_in_a_sentence(f"{again} {settings.table}"), progress() as bar:
            yield worker_engine(settings), tenant_data(settings.table, settings.blob_bucket), bar
    except InvalidRequest as error:
        raise click.ClickException(printable(str(error))) from error


def _numbers(deleted: Deleted) -> str:
    return f"{deleted.entries:,} entries, {deleted.blobs:,} blobs and {deleted.tokens:,} tokens"
