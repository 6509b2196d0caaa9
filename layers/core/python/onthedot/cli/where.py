"""Which table a command works on: that of the local stack, or one of an AWS account."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from onthedot.domain.errors import Unavailable

NO_STACK: Final = "there is no local stack here; start one with `onthedot up`, or name the table with --table"
# The local AWS takes any keys, in the region that it was deployed to.
LOCAL: Final = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}

Command = TypeVar("Command", bound=Callable[..., Any])


def table_options(command: Command) -> Command:
    """The options `--table`, `--region` and `--endpoint-url`, for `find_table`."""
    for option in (
        click.option("--endpoint-url", metavar="URL", help="Of an AWS that is not AWS itself."),
        click.option("--region", metavar="NAME", help="Where the table is.  [default: as for the AWS command line]"),
        click.option("--table", metavar="NAME", help="A table of your account.  [default: that of the local stack]"),
    ):
        command = option(command)
    return command


@contextmanager
def reaching(what: str) -> Iterator[None]:
    """A table that is not there, or not ours, is an error in a sentence."""
    from onthedot.wiring.aws import AWS_ERRORS  # noqa: PLC0415 - slow, and few commands need it

    try:
        yield
    except (Unavailable, *AWS_ERRORS) as error:
        raise click.ClickException(f"{what}: {error}") from error


def find_table(table: str | None, region: str | None, endpoint_url: str | None) -> tuple[str, dict[str, Any]]:
    """The table, and how a client gets there."""
    if table is not None:
        given = {"region_name": region, "endpoint_url": endpoint_url}
        return table, {name: value for name, value in given.items() if value is not None}
    if region or endpoint_url:
        raise click.UsageError("--region and --endpoint-url say where --table is; give that too")
    stack = local_stack()
    return stack["table"], {**LOCAL, "endpoint_url": stack["endpoint_url"]}


def local_stack() -> dict[str, Any]:
    """What `local.json` says: that of ONTHEDOT_HOME, or of the clone that we are in."""
    here = Path.cwd()
    chosen = os.environ.get("ONTHEDOT_HOME")
    homes = [Path(chosen).expanduser()] if chosen else [at / ".onthedot" for at in (here, *here.parents)]
    for home in homes:
        if (description := home / "local.json").is_file():
            return dict(json.loads(description.read_text()))
    raise click.UsageError(NO_STACK)
