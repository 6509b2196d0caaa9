"""`onthedot restore` and `shards`: an earlier state of a stage's table, and the numbers of shards that it had."""

from datetime import UTC, datetime
from typing import Final

import click

from onthedot.cli.credentials import (
    LOCAL_STAGE,
    aws_errors_in_a_sentence,
    find_table,
    required_stage,
    stage_environment,
    table_options,
    use_local_aws,
)
from onthedot.cli.operations.retire_shards import Retirement, retire_shards
from onthedot.cli.output import counted, document_option, print_document, print_rows, progress
from onthedot.core.clock import SystemClock, format_instant
from onthedot.core.errors import OnthedotError
from onthedot.core.ports import DueIndex
from onthedot.core.shards import ShardStore
from onthedot.core.slots import BUCKET_MS, bucket_of
from onthedot.settings import PREFIX

NEXT: Final = "onthedot deploy --stage {stage} -c table_name={name} -c table_stream_arn={stream}"
COLUMNS: Final = ("SHARDS", "FIRST USED", "LAST USED (TO THE HOUR)")


@click.command()
@required_stage
@click.option(
    "--to", "at", metavar="TIME", help="That time, such as 2026-03-01T12:00:00Z.  [default: the latest possible]"
)
@click.option("--name", metavar="TABLE", help="Name of the new table.  [default: the old name plus the current time]")
@document_option
def restore(stage: str, at: str | None, name: str | None, as_json: bool) -> None:
    """Restore a stage's table as it was at an earlier time.

    The stage's table stays as it is. The command creates a new table, and prints the command that switches the stage
    to it. If you interrupt it, run it again with the same --name.

    \b
    Example:
      onthedot restore --stage prod --to 2026-03-01T12:00:00Z
    """
    moment = None if at is None else _moment(at)
    if stage == LOCAL_STAGE:
        use_local_aws()
    prefix = f"onthedot-{stage}-"
    if name is not None and not name.startswith(prefix):
        raise click.BadParameter(f"the name must begin with {prefix}, or no stack accepts it", param_hint="--name")
    table = stage_environment(stage)[f"{PREFIX}TABLE"]
    restored, stream_arn = _restore(table, name or f"{table}-{datetime.now(UTC):%Y%m%d-%H%M%S}", moment)
    following = NEXT.format(stage=stage, name=restored, stream=stream_arn)
    if as_json:
        print_document({"table": restored, "stream_arn": stream_arn, "next": following})
    else:
        click.echo(f"Restored {table} as {restored}. Switch the stage to it:\n\n  {following}\n")


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter("give a time such as 2026-03-01T12:00:00Z", param_hint="--to") from error
    if moment.tzinfo is None:
        raise click.BadParameter("give the time with its offset, such as 2026-03-01T12:00:00Z", param_hint="--to")
    return moment


def _restore(table: str, name: str, at: datetime | None) -> tuple[str, str]:
    from onthedot.wiring.aws import restored_table  # noqa: PLC0415 - needs the AWS packages

    try:
        with aws_errors_in_a_sentence(f"table {table}"), progress(f"Restoring {table} as {name} …") as bar:
            return restored_table(table, name, at, SystemClock(), lambda word: bar.say(f"{name} is {word} …"))
    except OnthedotError as error:
        raise click.ClickException(str(error)) from error


@click.command()
@click.option("--retire", is_flag=True, help="Stop ticking shards that are no longer in use, if they are empty.")
@document_option
@table_options
def shards(retire: bool, as_json: bool, **place: str | None) -> None:
    """Show how many shards a stage has used, and retire old ones.

    Ticks serve the largest number. `--retire` reads the whole due index three times and lowers the number to the one
    in use now. It refuses if the larger number was in use within the last day, or if a record is left in a shard that
    would get no more ticks.

    \b
    Example:
      onthedot shards --retire --table onthedot-prod-jobs --region eu-central-1
    """
    table, connection = find_table(**place)
    with aws_errors_in_a_sentence(table):
        from onthedot.wiring.aws import due_index, shard_store  # noqa: PLC0415 - needs the AWS packages

        store = shard_store(table, **connection)
        retired = _retire(store, due_index(table, **connection)) if retire else None
        history = store.read()
    in_use = history.in_use(bucket_of(SystemClock().now()))
    steps = [(one.count, _minute(one.since), _minute(one.seen)) for one in history.steps]
    if as_json:
        shown = [{"shards": count, "since": since, "last_used": seen} for count, since, seen in steps]
        print_document({"served": history.used, "in_use": in_use, "steps": shown})
    elif steps:
        print_rows(COLUMNS, [(str(count), since, seen) for count, since, seen in steps])
        click.echo(f"Ticks serve {history.used} shards. This stage uses {in_use}.")
    else:
        click.echo("No job was stored in this table yet.")
    if retired is not None:
        _report(retired)


def _retire(store: ShardStore, index: DueIndex) -> Retirement:
    with progress() as bar:
        read = 0

        def count(entries: int) -> None:
            nonlocal read
            read += entries
            bar.say(f"{read:,} index entries read")

        return retire_shards(store, index, SystemClock(), count)


def _report(retired: Retirement) -> None:
    if retired.left:
        last = f", the last one due at {format_instant(retired.last_due)}" if retired.last_due is not None else ""
        old = f"{retired.in_use} to {retired.used - 1}"
        raise click.ClickException(
            f"nothing was retired: shards {old} still have {counted(retired.left, 'record')}{last}"
        )
    if retired.done:
        click.echo(f"Shards {retired.in_use} to {retired.used - 1} are retired.", err=True)
    else:
        click.echo(f"Nothing to retire: {retired.used} shards were in use within the last day.", err=True)


def _minute(bucket: int) -> str:
    return format_instant(bucket * BUCKET_MS)
