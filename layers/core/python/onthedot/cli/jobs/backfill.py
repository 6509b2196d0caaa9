"""`onthedot backfill` and `forecast`: runs for the fire times of a past window, and the runs of the coming minutes."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

import click

from onthedot.cli.documents import Documents, JobName, find_job
from onthedot.cli.options import PRIORITIES, on_api
from onthedot.cli.output import Cells, counted, print_document, print_next, print_rows, progress, word
from onthedot.cli.times import Duration, Past, PastTime, day_and_clock, read_moment, this_moment
from onthedot.client import requests

AT_ONCE: Final = 500
"""Fire times of one call, so that the bar moves."""
BAR: Final = 20
"""Characters of the longest bar of a forecast."""
MAX_MINUTES: Final = 1_500


@click.command()
@click.argument("job", metavar="JOB", type=JobName())
@click.option(
    "--from", "start", required=True, type=Past(), help="Start of the window: 12h for 12 hours ago, or a time."
)
@click.option("--to", "end", type=Past(), help="End of the window, exclusive.  [default: now]")
@click.option("--limit", type=click.IntRange(1), help="Stop after this many fire times.  [default: all]")
@click.option(
    "--priority",
    type=click.Choice(PRIORITIES, case_sensitive=False),
    default="LOW",
    show_default=True,
    help="Priority of the runs.",
)
@on_api
def backfill(
    job: str, *, start: PastTime, end: PastTime | None, limit: int | None, priority: str, api: Documents, as_json: bool
) -> None:
    """Run a recurring job for the fire times of a past window.

    A fire time that already has an execution gets no second one, so you can repeat the command. With --json, it prints
    the response to each call. Exit code 4: there is no such job.

    \b
    Examples:
      onthedot backfill report --from 12h
      onthedot backfill job_p4lr2upbz3zjp5vfk4bckgyzhm --from 2026-11-01T00:00:00Z --to 2026-11-02T00:00:00Z
    """
    # The clock of the API may be a little behind, and it refuses a window that ends in the future.
    until = this_moment() - timedelta(seconds=1) if end is None else end.at
    job_id, following, created, existing = find_job(api, job), start.at, 0, 0
    with progress() as bar:
        while following is not None:
            most = AT_ONCE if limit is None else min(AT_ONCE, limit - created - existing)
            try:
                document = api.ask(requests.backfill(job_id, following, until, most, priority), job=job)
            except click.ClickException:
                if created:
                    click.echo(
                        f"Created {counted(created, 'run')} so far. Run the command again to continue.", err=True
                    )
                raise
            created, existing, left = created + document["created"], existing + document["existing"], document["left"]
            bar.show(created + existing, created + existing + left)
            if as_json:
                print_document(document)
            if limit is not None and created + existing >= limit:
                break
            if document.get("next_from") == following:
                raise click.ClickException(f"the store accepts no more runs now; continue with --from {following}")
            following = document.get("next_from")
    if as_json:
        return
    more = f", {left:,} left" if left else ""
    click.echo(f"Runs of past fire times: {created:,} new, {existing:,} already there{more}.")
    print_next(f"onthedot executions {word(job)}")


@click.command()
@click.option(
    "--minutes", type=click.IntRange(1, MAX_MINUTES), default=15, show_default=True, help="How many minutes ahead."
)
@click.option("--for", "window", type=Duration(), help="How far ahead, such as 24h; replaces --minutes.")
@on_api
def forecast(minutes: int, window: float | None, api: Documents, as_json: bool) -> None:
    """Count the runs due in each coming minute.

    It looks up to 25 hours ahead and names the jobs with the most runs in each minute. It counts waiting runs, runs in
    a queue, and the future runs of recurring jobs.

    \b
    Example:
      onthedot forecast --for 24h
    """
    if window is not None:
        minutes = -(-int(window) // 60)
        if not 1 <= minutes <= MAX_MINUTES:
            raise click.UsageError("--for is out of range; give 1m to 25h")
    found = api.ask(requests.forecast(minutes))
    if as_json:
        print_document(found)
        return
    _print_minutes(found["minutes"])
    if found["truncated"]:
        until = read_moment(found.get("complete_until"))
        missing = (
            "" if until is None else f" From {day_and_clock(until, this_moment())} on, some one-off runs are missing."
        )
        click.echo(f"There are more runs than were counted.{missing}", err=True)


def _print_minutes(minutes: Sequence[Mapping[str, Any]]) -> None:
    cells = Cells()
    most = max((one["runs"] for one in minutes), default=0)
    rows = [
        (
            cells.time(one["time"]),
            f"{one['runs']:,}" if cells.for_people else str(one["runs"]),
            *(("━" * -(-BAR * one["runs"] // most),) if cells.for_people else ()),
            ", ".join(_heavy(job) for job in one.get("heaviest", ())),
        )
        for one in minutes
        if one["runs"]
    ]
    header = ("MINUTE", "RUNS", *(("",) if cells.for_people else ()), "HEAVIEST")
    print_rows(header, rows, f"No runs are scheduled for the next {len(minutes)} minutes.")


def _heavy(job: Mapping[str, Any]) -> str:
    name = job.get("name") or job["job_id"]
    return str(name) if job["runs"] == 1 else f"{name} ×{job['runs']:,}"
