"""`onthedot get`: show one job as a table, or as the API's own document."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

import click
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from onthedot.cli.text import printable, short
from onthedot.cli.where import START, api_options, find_api
from onthedot.client.place import Place as ApiPlace
from onthedot.domain.errors import OnthedotError, Unavailable
from onthedot.worker.rest_client import ApiRefused, Reply, RestClient

SHOWN: Final = (
    "job_id", "name", "description", "status", "reason", "cron", "timezone", "every", "on_event", "target", "payload",
    "priority", "pool", "gates", "start_within_seconds", "tags", "dependencies", "workflow_id", "key", "created_at",
    "fire_time", "next_fire_time", "last_run", "finished_at", "lateness_ms", "retry_count", "result",
)  # fmt: skip
"""The fields of a job that the table has, in this order. A field without a value has no row."""
STYLES: Final = {"SUCCEEDED": "green", "FAILED": "red"}


class UnknownJob(click.ClickException):
    """The API has no such job, or it belongs to another tenant."""

    exit_code = 4


@click.command()
@click.argument("job_id")
@api_options
@click.option("--json", "as_json", is_flag=True, help="Print the answer of GET /v1/jobs/{id} unchanged.")
def get(job_id: str, url: str | None, token: str | None, as_json: bool) -> None:
    """Show one job.

    Long values are cut. --json prints all of them. Exit code 4: there is no such job.

    \b
    Example:
      onthedot get job_p4lr2upbz3zjp5vfk4bckgyzhm
    """
    api = find_api(url, token)
    reply = _read(api, job_id)
    job = reply.document
    if not isinstance(job, dict) or "job_id" not in job:
        raise click.ClickException(f"{api.url} did not answer with a job; is the URL right?")
    if as_json:
        click.echo(reply.data)
    else:
        Console().print(_table(job))


def _read(api: ApiPlace, job_id: str) -> Reply:
    """Return the API's reply about the job. Raise click.ClickException with a sentence when there is none."""
    client = RestClient(api.url, api.token, program="onthedot-cli")
    try:
        return client.get(f"/v1/jobs/{quote(job_id, safe='', errors='replace')}")
    except ApiRefused as error:
        if error.status == 404 and error.code == "not_found":
            raise UnknownJob(f"there is no job {printable(job_id)} at {api.url}; check its id") from error
        raise click.ClickException(f"{api.url} answered {printable(str(error))}") from error
    except Unavailable as error:
        hint = f"; {START}" if api.is_local else ""
        raise click.ClickException(printable(str(error)) + hint) from error
    except OnthedotError as error:
        raise click.ClickException(str(error)) from error


def _table(job: Mapping[str, Any]) -> Table:
    table = Table(Column(style="dim", no_wrap=True), Column(overflow="fold"), box=None, show_header=False)
    for name, value in _rows(job):
        style = STYLES.get(value, "") if name == "status" else ""
        table.add_row(name.replace("_", " "), Text(short(printable(value)), style=style))
    return table


def _rows(job: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in SHOWN:
        value = job.get(name)
        if value not in (None, "", [], {}):
            yield name, _target(value) if name == "target" else _text(value)


def _target(target: Any) -> str:
    """Return the type of a target and the parts that identify it, without headers and inputs."""
    if not isinstance(target, dict):
        return _text(target)
    return " ".join(_text(value) for value in target.values() if isinstance(value, str | list))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
