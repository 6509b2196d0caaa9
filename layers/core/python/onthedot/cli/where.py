"""Find the table or the API that a command works on: the one of `local.json`, or another one."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final, TypeVar

import click

from onthedot.client import place as places
from onthedot.client.errors import PlaceError
from onthedot.client.place import TOKEN, URL
from onthedot.client.place import Place as ApiPlace
from onthedot.domain.errors import Unavailable

START: Final = "`onthedot serve` or `onthedot up` starts one"
NO_STACK: Final = "there is no local stack or server here; start one with `onthedot serve` or `onthedot up`, or "
NO_AWS: Final = "`onthedot serve` runs here, without AWS; start a local stack with `onthedot up`, or "
# The local AWS accepts any keys, in the region that it was deployed to.
LOCAL: Final = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}
LOCAL_STAGE: Final = "local"
OUTPUT: Final = "WorkerEnvironment"
TABLE_OUTPUT: Final = "TableName"

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
def aws_errors_in_a_sentence(what: str, failure: type[click.ClickException] = click.ClickException) -> Iterator[None]:
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
    stack = local_aws("name the table with --table")
    return stack["table"], {**LOCAL, "endpoint_url": stack["endpoint_url"]}


def stage_environment(stage: str) -> dict[str, str]:
    """Return the settings of a deployed worker, which also fit a command with AWS credentials.

    The stage `local` is the one of the local stack.
    """
    return dict(json.loads(_output(stage, "workers", OUTPUT)))


def stage_table(stage: str) -> str:
    """Return the name of the table that a deployed stage uses. The stage `local` is the one of the local stack."""
    return _output(stage, "data", TABLE_OUTPUT)


def _output(stage: str, part: str, key: str) -> str:
    """Return an output of one stack of a stage. Raise click.ClickException."""
    from onthedot.wiring.aws import client  # noqa: PLC0415 - needs the AWS packages

    if stage == LOCAL_STAGE:
        use_local_aws()
    name = f"onthedot-{stage}-{part}"
    with aws_errors_in_a_sentence(name):
        stacks: Any = client("cloudformation").describe_stacks(StackName=name)["Stacks"]
    for output in stacks[0].get("Outputs", []):
        if output["OutputKey"] == key:
            return str(output["OutputValue"])
    raise click.ClickException(f"{name} has no output {key}; deploy it again with this version")


def use_local_aws() -> None:
    """Set the environment that every AWS client reads, those of the `lambda` and `aws` targets too."""
    os.environ["AWS_ENDPOINT_URL"] = local_aws("name a deployment with --stage")["endpoint_url"]
    os.environ["AWS_DEFAULT_REGION"] = LOCAL["region_name"]
    os.environ["AWS_ACCESS_KEY_ID"] = LOCAL["aws_access_key_id"]
    os.environ["AWS_SECRET_ACCESS_KEY"] = LOCAL["aws_secret_access_key"]


def api_options(command: Command) -> Command:
    """Add the options `--url` and `--token` to a command, for `find_api`."""
    command = click.option("--token", metavar="TOKEN", help=f"API token. Better set {TOKEN}.")(command)
    return click.option("--url", metavar="URL", help=f"URL of the API.  [default: {URL}, or the one of this folder]")(
        command
    )


def find_api(url: str | None, token: str | None) -> ApiPlace:
    """Return the API that the options name, else the one that the environment names, else the one of `local.json`."""
    if address := url or os.environ.get(URL):
        return checked_api(address, token or os.environ.get(TOKEN))
    stack = local_stack("name an API with --url")
    return checked_api(stack.get("api_url", ""), token or stack.get("token"), is_local=True)


def checked_api(url: str, token: str | None, *, is_local: bool = False) -> ApiPlace:
    """Return the place of an API. Raise click.UsageError when no request can be made of the URL or the token."""
    try:
        return places.checked_place(url, token, is_local=is_local)
    except PlaceError as error:
        raise click.UsageError(str(error)) from error


def local_stack(otherwise: str) -> dict[str, Any]:
    """Return the content of `local.json` in ONTHEDOT_HOME, or in `.onthedot` of this folder or one above it.

    Raise click.UsageError when there is none. Its message offers the way to do without.
    """
    file = places.find_local_file()
    if file is None:
        raise click.UsageError(NO_STACK + otherwise)
    try:
        return places.read_local_file(file)
    except PlaceError as error:
        raise click.ClickException(str(error)) from error


def local_aws(otherwise: str) -> dict[str, Any]:
    """Return the content of `local.json` of a local stack. Raise click.UsageError when `onthedot serve` wrote it."""
    stack = local_stack(otherwise)
    if "endpoint_url" not in stack:
        raise click.UsageError(NO_AWS + otherwise)
    return stack
