"""`onthedot get`: show one job, or the API's own document."""

import shutil
from collections.abc import Mapping
from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents, missing_job, print_unchanged
from onthedot.cli.common.moments import this_moment
from onthedot.cli.common.names import JobName, job_named
from onthedot.cli.common.running import progress_in_words
from onthedot.cli.common.tables import wrapped
from onthedot.cli.jobs.shown_job import facts_of, fields_of
from onthedot.cli.limit_text import is_for_people, print_next
from onthedot.cli.text import printable, short
from onthedot.cli.where import api_options
from onthedot.client import requests

TITLES: Final = 14
"""Cells of the titles beside the facts."""
COLOURS: Final = {"SUCCEEDED": "green", "FAILED": "red"}


@click.command()
@click.argument("job_id", metavar="JOB", type=JobName())
@api_options
@click.option("--json", "as_json", is_flag=True, help="Print the answer of GET /v1/jobs/{id} unchanged.")
def get(job_id: str, url: str | None, token: str | None, as_json: bool) -> None:
    """Show one job.

    Long values are cut. A pipe gets the fields of the API with tabs, and --json all of them. Exit code 4: there is no
    such job.

    \b
    Example:
      onthedot get job_p4lr2upbz3zjp5vfk4bckgyzhm
    """
    job_id, wanted = job_named(job_id, url, token), job_id
    api = Documents(url, token)
    job = api.ask(requests.get(job_id), missing_job(job_id))
    if as_json:
        print_unchanged(job)
    elif not is_for_people():
        for name, value in fields_of(job):
            click.echo(f"{name}\t{short(printable(value))}")
    else:
        _print({**job, "progress": _progress(api, job)})
        print_next(f"onthedot explain {printable(wanted)}", f"onthedot executions {printable(wanted)}")


def _print(job: Mapping[str, Any]) -> None:
    room = shutil.get_terminal_size().columns - TITLES
    for title, value in facts_of(job, this_moment()):
        lines = wrapped(short(printable(value)), room)
        shown = f"{click.style(title.ljust(TITLES), dim=True)}{click.style(lines[0], fg=COLOURS.get(value))}"
        click.echo("\n".join([shown, *(" " * TITLES + line for line in lines[1:])]))


def _progress(api: Documents, job: Mapping[str, Any]) -> str:
    """Return how far a one-off job is that runs now. A call that fails leaves it out: the job is known."""
    if job["status"] != "RUNNING":
        return ""
    try:
        return progress_in_words(api.ask(requests.execution(job["job_id"])), this_moment())
    except click.ClickException:
        return ""
