"""`onthedot run`: run jobs now."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import click

from onthedot.cli.jobs.bulk import Act
from onthedot.cli.jobs.changes import change, many_options
from onthedot.cli.jobs.job_options import read_json
from onthedot.cli.limit_text import print_next
from onthedot.cli.text import printable
from onthedot.client import requests

RUN: Final = Act("run", "run now")


@click.command()
@many_options
@click.option("--payload", metavar="JSON|@FILE|-", help="Payload of this run only.  [that of the job]")
def run(jobs: Sequence[str], payload: str | None, **options: Any) -> None:
    """Run a job now, beside its schedule.

    A call whose answer was lost is not repeated, because each call makes a run. Exit code 4: there is no such job.

    \b
    Examples:
      onthedot run report
      onthedot run send-email --payload '{"to": "x@y.z"}'
      onthedot run --all --tag team=billing --dry-run
    """
    if payload is not None and options["everything"]:
        raise click.UsageError("--payload works only with JOB")
    request = partial(requests.run, payload=_read(payload))
    change(jobs, RUN, request, lambda execution: f"runs now as {execution['execution_id']}", options)
    if jobs and not options["as_json"]:
        print_next(*(f"onthedot executions {printable(job)}" for job in jobs[:1]))


def _read(payload: str | None) -> Any:
    if payload is None:
        return None
    try:
        return read_json(payload)
    except (ValueError, OSError) as error:
        raise click.UsageError(f"--payload: {error}") from error
