"""`onthedot run`: run a job now."""

import click

from onthedot.cli.common.documents import Documents, Id, missing_job, print_document
from onthedot.cli.limit_text import json_option, print_next
from onthedot.cli.text import printable
from onthedot.cli.where import api_options
from onthedot.client import requests


@click.command()
@click.argument("job_id", type=Id())
@api_options
@json_option
def run(job_id: str, url: str | None, token: str | None, as_json: bool) -> None:
    """Run a job now, beside its schedule.

    A call whose answer was lost is not repeated, because each call makes a run. Exit code 4: there is no such job.

    \b
    Example:
      onthedot run job_p4lr2upbz3zjp5vfk4bckgyzhm
    """
    execution = Documents(url, token, missing_job(job_id)).ask(requests.run(job_id))
    if as_json:
        print_document(execution)
        return
    click.echo(f"{printable(job_id)} runs now as {execution['execution_id']}.")
    print_next(f"onthedot executions {printable(job_id)}")
