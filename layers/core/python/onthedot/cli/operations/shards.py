"""`onthedot shards`: the numbers of shards that were used, and the end of ticks for shards that are used no more."""

import json
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from onthedot.cli.where import aws_errors_in_a_sentence, find_table, table_options
from onthedot.clock import SystemClock
from onthedot.core.shard_store import ShardStore
from onthedot.domain.instants import format_instant
from onthedot.domain.runs.slots import BUCKET_MS, bucket_of
from onthedot.domain.shard_history import ShardHistory
from onthedot.ports import DueIndex
from onthedot.use_cases.shards.retire_shards import Retirement, retire_shards


@click.command()
@click.option("--retire", is_flag=True, help="End the ticks of shards that no part uses any more, if they are empty.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@table_options
def shards(retire: bool, as_json: bool, table: str | None, region: str | None, endpoint_url: str | None) -> None:
    """Show the numbers of shards that were used, and retire old ones.

    Ticks go on for the largest number. `--retire` reads the whole due index three times and lowers the number to the
    one that is used now. It refuses within a day after the larger number was used, and while a record is in a shard
    that would get no more ticks.

    \b
    Example:
      onthedot shards --retire --table onthedot-prod-jobs --region eu-central-1
    """
    name, connection = find_table(table, region, endpoint_url)
    with aws_errors_in_a_sentence(name):
        store, index = _stores(name, connection)
        retired = _retire(store, index) if retire else None
        history = store.read()
    if as_json:
        click.echo(json.dumps(_view(history)))
    else:
        _show(history)
    if retired is not None:
        _report(retired)


def _stores(table: str, connection: dict[str, Any]) -> tuple[ShardStore, DueIndex]:
    from onthedot.wiring.aws import due_index, shard_store  # noqa: PLC0415 - needs the AWS packages

    return shard_store(table, **connection), due_index(table, **connection)


def _retire(store: ShardStore, index: DueIndex) -> Retirement:
    columns = (SpinnerColumn(), TextColumn("{task.completed:,.0f} index entries read"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("read", total=None)
        return retire_shards(store, index, SystemClock(), lambda entries: progress.advance(task, entries))


def _view(history: ShardHistory) -> dict[str, Any]:
    return {
        "served": history.used,
        "in_use": history.in_use(bucket_of(SystemClock().now())),
        "steps": [
            {"shards": step.count, "since": _minute(step.since), "last_used": _minute(step.seen)}
            for step in history.steps
        ],
    }


def _show(history: ShardHistory) -> None:
    view = _view(history)
    if not history.steps:
        click.echo("No job was stored in this table yet.")
        return
    shown = Table("shards", "first used", "last used (to the hour)")
    for step in view["steps"]:
        shown.add_row(str(step["shards"]), step["since"], step["last_used"])
    Console().print(shown)
    click.echo(f"Ticks serve {view['served']} shards. The parts of this stage use {view['in_use']}.")


def _report(retired: Retirement) -> None:
    """Print to stderr how the retirement went. Raise click.ClickException if records are left in old shards."""
    if retired.left:
        last = f", the last one due at {format_instant(retired.last_due)}" if retired.last_due is not None else ""
        old = f"{retired.in_use} to {retired.used - 1}"
        raise click.ClickException(f"nothing was retired: {retired.left} records are in the shards {old}{last}")
    if retired.done:
        click.echo(f"The shards {retired.in_use} to {retired.used - 1} are retired.", err=True)
    else:
        click.echo(f"Nothing to retire: {retired.used} shards were used within the last day.", err=True)


def _minute(bucket: int) -> str:
    return format_instant(bucket * BUCKET_MS)
