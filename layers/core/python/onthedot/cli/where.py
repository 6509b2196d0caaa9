"""Find the table that a command works on: the one of the local stack, or one of an AWS account."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from onthedot.domain.errors import Unavailable

NO_STACK: Final = "there is no local stack here; start one with `onthedot up`, or name the table with --table"
# The local AWS accepts any keys, in the region that it was deployed to.
LOCAL: Final = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}

Command = TypeVar("Command", bound=Callable[..., Any])


def table_options(command: Command) -> Command:
    """Add the options `--table`, `--region` and `--endpoint-url` to a command, for `find_table`."""
    for option in (
        click.option("--endpoint-url", metavar="URL", help="URL of a substitute for AWS, such as a local one."),
        click.option("--region", metavar="NAME", help="Region of the table.  [default: as for the AWS command line]"),
        click.option("--table", metavar="NAME", help="A table of your account.  [default: the one of the local stack]"),
    ):
        command = option(command)
    return command


@contextmanager
def reaching(what: str, failure: type[click.ClickException] = click.ClickException) -> Iterator[None]:
    """Raise `failure` with one sentence when AWS does not answer or refuses a call."""
    from onthedot.wiring.aws import AWS_ERRORS  # noqa: PLC0415 - needs the AWS packages

    try:
        yield
    except (Unavailable, *AWS_ERRORS) as error:
        raise failure(f"{what}: {error}") from error


def find_table(table: str | None, region: str | None, endpoint_url: str | None) -> tuple[str, dict[str, Any]]:
    """Return the name of the table and the arguments of a client that reaches it."""
    # A command without the AWS packages cannot work, so this comes before every other message.
    import_module("botocore.exceptions")
    if table is not None:
        connection = {"region_name": region, "endpoint_url": endpoint_url}
        return table, {name: value for name, value in connection.items() if value is not None}
    if region or endpoint_url:
        raise click.UsageError("--region and --endpoint-url say where --table is; give that too")
    stack = local_stack()
    return stack["table"], {**LOCAL, "endpoint_url": stack["endpoint_url"]}


def local_stack() -> dict[str, Any]:
    """Return the content of `local.json` in ONTHEDOT_HOME, or in `.onthedot` of this folder or one above it."""
    here = Path.cwd()
    chosen = os.environ.get("ONTHEDOT_HOME")
    homes = [Path(chosen).expanduser()] if chosen else [at / ".onthedot" for at in (here, *here.parents)]
    for home in homes:
        if (description := home / "local.json").is_file():
            return dict(json.loads(description.read_text()))
    raise click.UsageError(NO_STACK)
