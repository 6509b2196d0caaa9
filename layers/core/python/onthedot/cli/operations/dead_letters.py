"""`onthedot dead-letters`: list executions that failed for good."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import islice, takewhile
from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents, print_document
from onthedot.cli.common.durations import Duration
from onthedot.cli.common.moments import read_moment, this_moment
from onthedot.cli.jobs.executions import print_executions
from onthedot.cli.limit_text import json_option, print_next
from onthedot.cli.where import api_options
from onthedot.client import operations

LONGEST: Final = 3e9
"""Seconds, which reach back before the first dead letter that there can be."""
since_option = click.option("--since", type=Duration(), help="Only those of the latest time, such as 12h.")
job_option = click.option("--job", "job_id", metavar="JOB_ID", help="Only those of this job.")


@click.command("dead-letters")
@since_option
@job_option
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Most that are listed.")
@api_options
@json_option
def dead_letters(
    *, since: float | None, job_id: str | None, limit: int, url: str | None, token: str | None, as_json: bool
) -> None:
    """List executions that failed for good.

    The latest is the first. A pipe and --json get the ids of the executions too.

    \b
    Example:
      onthedot dead-letters --since 12h
    """
    found = islice(chosen(Documents(url, token), since, job_id), limit)
    if as_json:
        for one in found:
            print_document(one)
        return
    if print_executions(found, "There is no such dead letter."):
        print_next("onthedot redrive --since 12h --dry-run")


def chosen(api: Documents, since: float | None, job_id: str | None) -> Iterator[dict[str, Any]]:
    """Yield the dead letters of a time and a job. The latest come first, so the first that is too old is the end."""
    found = api.pages(operations.dead_letters, "dead_letters")
    if since is not None:
        first = this_moment() - timedelta(seconds=min(since, LONGEST))
        found = takewhile(lambda one: (read_moment(one.get("finished_at")) or first) >= first, found)
    return (one for one in found if job_id in (None, one["job_id"]))
