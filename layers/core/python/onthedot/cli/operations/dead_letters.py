"""`onthedot dead-letters`: list executions that failed for good, or count them by cause."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Any, Final, TypeVar, cast

import click

from onthedot.cli.common.documents import Documents, print_document
from onthedot.cli.common.moments import cell, this_moment
from onthedot.cli.common.names import JobName, job_named
from onthedot.cli.common.past import LONGEST, Past
from onthedot.cli.jobs.executions import print_executions
from onthedot.cli.limit_text import is_for_people, json_option, print_next, print_rows
from onthedot.cli.where import api_options
from onthedot.client import requests as calls
from onthedot.client.options import DeadLetterOptions

CAUSE_COLUMNS: Final = ("COUNT", "CAUSE", "LATEST", "SUCCEEDED SINCE", "JOBS", "LATEST JOB")
MOST_CAUSES: Final = 100
"""Most causes that one call of the API answers."""
_Function = TypeVar("_Function", bound=Callable[..., Any])


def filter_options(function: _Function) -> _Function:
    """Add the options that choose dead letters."""
    options = (
        click.option("--since", type=Past(), help="Only failures since then: 12h ago, or a time."),
        click.option("--until", type=Past(), help="Only failures before then."),
        click.option("--name", help="Only those of jobs whose names begin so."),
        click.option("--job", type=JobName(), help="Only those of this job."),
        click.option("--cause", help="Only those with this cause, as --by cause shows it."),
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.command("dead-letters")
@filter_options
@click.option("--by", type=click.Choice(["cause"]), help="Count them by cause.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Most that are listed.")
@api_options
@json_option
def dead_letters(
    *, by: str | None, limit: int, url: str | None, token: str | None, as_json: bool, **chosen_by: str | None
) -> None:
    """List executions that failed for good.

    The latest is the first. A pipe and --json get the ids of the executions too.

    \b
    Examples:
      onthedot dead-letters --since 12h
      onthedot dead-letters --by cause
    """
    api, filters = Documents(url, token), filters_of(chosen_by, url, token)
    if by is not None:
        _show_causes(api, filters, limit, as_json=as_json)
        return
    pages = _pages(api, filters)
    found = islice(pages, limit)
    if as_json:
        for one in found:
            print_document(one)
        return
    if print_executions(found, "There is no such dead letter.", also_hidden=("STATUS", "LATE", "TOOK")):
        if next(pages, None) is not None:
            click.echo(f"These are the latest {limit:,}, and there are more: --limit.", err=True)
        print_next("onthedot dead-letters --by cause", "onthedot redrive --since 12h --dry-run")


def filters_of(chosen_by: dict[str, str | None], url: str | None, token: str | None) -> DeadLetterOptions:
    """Return the filters that the options of a command name. A job may be named by its name."""
    if (job := chosen_by.get("job")) is not None:
        chosen_by = {**chosen_by, "job": job_named(job, url, token)}
    return _filters(chosen_by)


def _filters(chosen_by: dict[str, str | None]) -> DeadLetterOptions:
    return cast(DeadLetterOptions, {name: value for name, value in chosen_by.items() if value is not None})


def chosen(api: Documents, since: float | None, job_id: str | None) -> Iterator[dict[str, Any]]:
    """Yield the dead letters of the latest seconds and of a job, the latest first."""
    first = None if since is None else this_moment() - timedelta(seconds=min(since, LONGEST))
    return _pages(api, _filters({"since": None if first is None else first.isoformat(), "job": job_id}))


def _pages(api: Documents, filters: DeadLetterOptions) -> Iterator[dict[str, Any]]:
    return api.pages(partial(calls.dead_letters, options=filters), "dead_letters")


def _show_causes(api: Documents, filters: DeadLetterOptions, limit: int, *, as_json: bool) -> None:
    document = api.ask(calls.dead_letter_causes(min(limit, MOST_CAUSES), filters))
    if as_json:
        print_document(document)
        return
    now, for_people = this_moment(), is_for_people()
    rows = [_cause_row(cause, cell(cause["latest"], now, for_people=for_people)) for cause in document["causes"]]
    print_rows(CAUSE_COLUMNS, rows, "There is no such dead letter.")
    if document["truncated"]:
        click.echo("There are more than were counted. Choose fewer with --since, --name or --job.", err=True)
    if rows:
        print_next(f'onthedot redrive --cause "{rows[0][1]}" --dry-run')


def _cause_row(cause: dict[str, Any], latest: str) -> tuple[str, ...]:
    return (
        f"{cause['count']:,}",
        str(cause["cause"]),
        latest,
        f"{cause['successes_since']:,}",
        f"{cause['jobs']:,}",
        str(cause["name"] or cause["job_id"]),
    )
