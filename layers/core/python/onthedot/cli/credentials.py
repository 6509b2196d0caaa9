"""A deployed stage or a table that a command reaches with AWS credentials."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

import click

from onthedot.cli.documents import Calls, NotThere, local_stack
from onthedot.cli.options import options
from onthedot.cli.output import printable
from onthedot.client.requests import Operation
from onthedot.core.errors import InvalidRequest, NotFound
from onthedot.core.lifecycle import TOMBSTONE_DAYS
from onthedot.engine import Engine
from onthedot.settings import AuditorSettings, BadSettings, WorkerSettings

NO_AWS: Final = "`onthedot serve` runs here, without AWS; start a local stack with `onthedot up`, or "
# The local AWS accepts any keys, in the region that it was deployed to.
LOCAL: Final = {"region_name": "us-east-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}
LOCAL_STAGE: Final = "local"
OUTPUT: Final = "WorkerEnvironment"
TABLE_OUTPUT: Final = "TableName"

table_options: Final = options(
    click.option("--table", metavar="NAME", help="A table in your account.  [default: the local stack's]"),
    click.option("--region", metavar="NAME", help="Region of the table.  [default: as in the AWS command line]"),
    click.option("--endpoint-url", metavar="URL", help="URL of an AWS substitute.  [default: AWS]"),
)
"""Adds `--table`, `--region` and `--endpoint-url`, for `find_table`."""
stage_option: Final = click.option("--stage", metavar="NAME", help="A deployment; needs your AWS credentials.")
required_stage: Final = click.option(
    "--stage", required=True, metavar="NAME", help="A deployment; needs your AWS credentials."
)


@contextmanager
def aws_errors_in_a_sentence(what: str, failure: type[click.ClickException] = click.ClickException) -> Iterator[None]:
    """Raise `failure` with one sentence when AWS does not answer or refuses a call."""
    from onthedot.wiring.aws import aws_errors  # noqa: PLC0415 - needs the AWS packages

    try:
        yield
    except aws_errors() as error:
        raise failure(f"{what}: {error}") from error


def find_table(table: str | None, region: str | None, endpoint_url: str | None) -> tuple[str, dict[str, Any]]:
    # A command without the AWS packages cannot work, so this comes before every other message.
    import_module("botocore.exceptions")
    if table is not None:
        connection = {"region_name": region, "endpoint_url": endpoint_url}
        return table, {name: value for name, value in connection.items() if value is not None}
    if region or endpoint_url:
        raise click.UsageError("--region and --endpoint-url say where --table is; give that too")
    stack = local_aws("name the table with --table")
    return stack["table"], {**LOCAL, "endpoint_url": stack["endpoint_url"]}


def engine_on_table(table: str, connection: dict[str, Any], shards: int | None = None) -> Engine:
    """Make an engine that knows no queues. Without a number of shards, it reads the number from the table."""
    from onthedot.wiring.aws import auditor_engine  # noqa: PLC0415 - needs the AWS packages

    if shards is None:
        shards = engine_on_table(table, connection, 1).shards.read().used or 1
    # A command does not know how long a deployment keeps its history. None keeps it for less time than this.
    settings = AuditorSettings(
        stage="",
        table=table,
        shards=shards,
        lookahead=0,
        history_days=TOMBSTONE_DAYS,
        backlog_limit=0,
        queue_base="",
        pools=[],
    )
    return auditor_engine(settings, **connection)


def stage_settings(stage: str) -> WorkerSettings:
    return worker_settings(stage_environment(stage))


def worker_settings(environment: Mapping[str, str]) -> WorkerSettings:
    try:
        return WorkerSettings.from_environment(environment)
    except BadSettings as error:
        raise click.ClickException(str(error)) from error


def stage_environment(stage: str) -> dict[str, str]:
    """Return the settings of a deployed worker as variables. The stage `local` is the one of the local stack."""
    return dict(json.loads(_output(stage, "workers", OUTPUT)))


def stage_table(stage: str) -> str:
    return _output(stage, "data", TABLE_OUTPUT)


def _output(stage: str, part: str, key: str) -> str:
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


def local_aws(otherwise: str) -> dict[str, Any]:
    """Return the content of `local.json` of a local stack. Raise click.UsageError when `onthedot serve` wrote it."""
    stack = local_stack(otherwise)
    if "endpoint_url" not in stack:
        raise click.UsageError(NO_AWS + otherwise)
    return stack


class TableCalls(Calls):
    """Admins' calls, answered by the API's own code in this process, on a table that AWS credentials reach."""

    def __init__(self, engine: Engine, name: str, missing: str = "") -> None:
        self._engine = engine
        self._name = name
        self._missing = missing

    def ask(self, operation: Operation[Any], missing: str | None = None, *, job: str | None = None) -> Any:  # noqa: ARG002 - no call is about a job
        from onthedot.api.errors import ApiError  # noqa: PLC0415 - REST needs none of these
        from onthedot.api.http import Request  # noqa: PLC0415 - as above
        from onthedot.api.route import RequestContext, RouteTable  # noqa: PLC0415 - as above
        from onthedot.api.routes import ROUTES  # noqa: PLC0415 - as above

        request = Request(operation.method, operation.path, operation.query, {}, json.dumps(operation.body).encode())
        try:
            route, found = RouteTable(ROUTES).find(operation.method, operation.path)
            with aws_errors_in_a_sentence(self._name):
                return route.action(RequestContext(self._engine, request, "", found))
        except NotFound as error:
            raise NotThere(f"{missing or self._missing} in {self._name}") from error
        except (ApiError, InvalidRequest) as error:
            raise click.ClickException(printable(str(error))) from error
