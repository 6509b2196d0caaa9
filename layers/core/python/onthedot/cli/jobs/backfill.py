"""`onthedot backfill`: run a recurring job for the fire times of a past window, call by call."""

from datetime import timedelta
from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents, missing_job, print_document
from onthedot.cli.common.moments import this_moment
from onthedot.cli.common.names import JobName, find_job
from onthedot.cli.common.progress import progress
from onthedot.cli.common.when import read_past
from onthedot.cli.jobs.job_options import PRIORITIES
from onthedot.cli.limit_text import json_option, print_next
from onthedot.cli.text import printable
from onthedot.cli.where import api_options
from onthedot.client import requests
from onthedot.client.requests import Operation

AT_ONCE: Final = 500
"""Fire times of one call, so that the progress moves."""


@click.command()
@click.argument("job_id", metavar="JOB", type=JobName())
@click.option(
    "--from", "start", required=True, metavar="WHEN", help="Start of the window: 12h for 12 hours ago, or a time."
)
@click.option("--to", "end", metavar="WHEN", help="End of the window, which is not in it.  [now]")
@click.option("--limit", type=click.IntRange(1), help="Most fire times.  [all]")
@click.option(
    "--priority",
    type=click.Choice(PRIORITIES, case_sensitive=False),
    default="LOW",
    show_default=True,
    help="Priority of the runs.",
)
@api_options
@json_option
def backfill(
    job_id: str,
    *,
    start: str,
    end: str | None,
    limit: int | None,
    priority: str,
    url: str | None,
    token: str | None,
    as_json: bool,
) -> None:
    """Run a recurring job for its fire times of a past window.

    A fire time that has an execution already gets no second one, so the command may be repeated. With --json it prints
    the answer of each call. Exit code 4: there is no such job.

    \b
    Examples:
      onthedot backfill report --from 12h
      onthedot backfill job_p4lr2upbz3zjp5vfk4bckgyzhm --from 2026-11-01T00:00:00Z --to 2026-11-02T00:00:00Z
    """
    now = this_moment()
    # The clock of the API may be a little behind, and it refuses a window that ends in the future.
    until = now - timedelta(seconds=1) if end is None else read_past("--to", end, now)
    window = (read_past("--from", start, now), until)
    api = Documents(url, token, missing_job(job_id))
    created, existing, left = _fill(api, find_job(api, job_id), window, limit=limit, priority=priority, as_json=as_json)
    if as_json:
        return
    more = f", {left:,} left" if left else ""
    click.echo(f"Runs of past fire times: {created:,} new, {existing:,} that were there already{more}.")
    print_next(f"onthedot executions {printable(job_id)}")


def _fill(
    api: Documents, job_id: str, window: tuple[Any, Any], *, limit: int | None, priority: str, as_json: bool
) -> tuple[int, int, int]:
    """Call until no fire time is left. Return how many runs were made, existed, and are left.

    Raise click.ClickException when a call gets no further.
    """
    start, end = window
    created = existing = 0
    with progress() as bar:
        while True:
            most = AT_ONCE if limit is None else min(AT_ONCE, limit - created - existing)
            document = _call(api, requests.backfill(job_id, start, end, most, priority), created)
            created, existing, left = created + document["created"], existing + document["existing"], document["left"]
            bar.show(created + existing, created + existing + left)
            if as_json:
                print_document(document)
            following = document.get("next_from")
            if following is None or (limit is not None and created + existing >= limit):
                return created, existing, left
            if isinstance(start, str) and following == start:
                raise click.ClickException(f"the store takes no more runs now; go on with --from {following}")
            start = following


def _call(api: Documents, operation: Operation[Any], created: int) -> Any:
    """Return the answer of one call. When it fails, print how far the calls before it came."""
    try:
        return api.ask(operation)
    except click.ClickException:
        if created:
            click.echo(f"{created:,} runs are made so far. Repeat the command to go on.", err=True)
        raise
