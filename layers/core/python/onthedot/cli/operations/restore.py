"""`onthedot restore`: the table of a stage as it was at an earlier time, as a new table."""

import json
from datetime import UTC, datetime
from typing import Any

import click
from rich.console import Console

from onthedot.cli.where import LOCAL_STAGE, aws_errors_in_a_sentence, stage_environment, use_local_aws
from onthedot.clock import SystemClock
from onthedot.domain.errors import OnthedotError
from onthedot.settings import PREFIX

NEXT = "onthedot deploy --stage {stage} -c table_name={name} -c table_stream_arn={stream}"


@click.command()
@click.option("--stage", required=True, metavar="NAME", help="A deployment, reached with your AWS credentials.")
@click.option("--to", "at", metavar="TIME", help="The time, such as 2026-03-01T12:00:00Z.  [default: the latest one]")
@click.option("--name", metavar="TABLE", help="Name of the new table.  [default: the old name and the present time]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def restore(stage: str, at: str | None, name: str | None, as_json: bool) -> None:
    """Restore the table of a stage as it was at an earlier time.

    The table of the stage stays as it is. The command makes a new table beside it, and prints the command that lets the
    stage use it. If you interrupt it, give it again with the same --name.

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
    new = name or f"{table}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    restored, stream_arn = _restore(table, new, moment)
    following = NEXT.format(stage=stage, name=restored, stream=stream_arn)
    if as_json:
        click.echo(json.dumps({"table": restored, "stream_arn": stream_arn, "next": following}))
        return
    click.echo(f"Restored {table} as {restored}. Let the stage use it:\n\n  {following}\n")


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

    console: Any = Console(stderr=True)
    try:
        with aws_errors_in_a_sentence(f"table {table}"), console.status(f"Restoring {table} as {name} …") as status:
            return restored_table(table, name, at, SystemClock(), lambda word: status.update(f"{name} is {word} …"))
    except OnthedotError as error:
        raise click.ClickException(str(error)) from error
