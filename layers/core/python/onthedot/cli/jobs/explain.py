"""`onthedot explain`: say why a job has not run, or what it does now."""

from collections.abc import Sequence
from typing import Any

import click

from onthedot.cli.calls import ApiCalls, encoded
from onthedot.cli.text import printable
from onthedot.cli.where import api_options, find_api


@click.command()
@click.argument("job_id")
@api_options
@click.option("--json", "as_json", is_flag=True, help="Print the answer of GET /v1/jobs/{id}/explain unchanged.")
def explain(job_id: str, url: str | None, token: str | None, as_json: bool) -> None:
    """Say why a job has not run, or what it does now.

    The first reason is the one that stops the job. Exit code 4: there is no such job.

    \b
    Example:
      onthedot explain job_p4lr2upbz3zjp5vfk4bckgyzhm
    """
    calls = ApiCalls(find_api(url, token), f"there is no job {printable(job_id)}")
    reply = calls.get(f"/v1/jobs/{encoded(job_id)}/explain")
    if as_json:
        click.echo(reply.data)
        return
    answer = reply.document
    if not isinstance(answer, dict) or not isinstance(answer.get("reasons"), list):
        raise click.ClickException("the answer is not an explanation; is the URL right?")
    click.echo(printable(str(answer.get("status"))))
    _print(answer["reasons"])


def _print(reasons: Sequence[Any]) -> None:
    """Print each reason whole on a line: a command in it must not be broken."""
    for reason in reasons:
        click.echo(f"  {printable(str(reason['message']))}")
