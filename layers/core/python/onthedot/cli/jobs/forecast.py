"""`onthedot forecast`: count the runs of each coming minute, and name the heaviest jobs."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents, print_document
from onthedot.cli.common.durations import Duration
from onthedot.cli.common.moments import cell, this_moment
from onthedot.cli.limit_text import is_for_people, json_option, print_rows
from onthedot.cli.where import api_options
from onthedot.client import requests

BAR: Final = 20
"""Characters of the longest bar."""
LONGEST: Final = 1_500
"""Minutes of the longest forecast."""
_MINUTE: Final = 60


@click.command()
@click.option(
    "--minutes", type=click.IntRange(1, LONGEST), default=15, show_default=True, help="How many minutes ahead."
)
@click.option("--for", "window", type=Duration(), help="How far ahead, such as 24h, in place of --minutes.")
@api_options
@json_option
def forecast(minutes: int, window: float | None, url: str | None, token: str | None, as_json: bool) -> None:
    """Count the runs of each coming minute.

    It goes up to 25 hours ahead and names the jobs that have the most runs of a minute. It counts runs that wait, that
    were sent to a queue, and that recurring jobs will have.

    \b
    Example:
      onthedot forecast --for 24h
    """
    found = Documents(url, token).ask(requests.forecast(minutes if window is None else _minutes(window)))
    if as_json:
        print_document(found)
        return
    _print(found["minutes"])
    if found["truncated"]:
        _print_truncated(found.get("complete_until"))


def _minutes(seconds: float) -> int:
    minutes = -(-int(seconds) // _MINUTE)
    if not 1 <= minutes <= LONGEST:
        raise click.UsageError("--for is out of range; give 1m to 25h")
    return minutes


def _print_truncated(complete_until: Any) -> None:
    since = "" if complete_until is None else f" From {cell(complete_until, this_moment(), for_people=True)} on,"
    missing = f"{since} some one-off runs are missing." if since else ""
    click.echo(f"There are more runs than were counted.{missing}", err=True)


def _print(minutes: Sequence[Mapping[str, Any]]) -> None:
    """Print a row for each minute that has runs, with a bar for people."""
    now, for_people = this_moment(), is_for_people()
    most = max((one["runs"] for one in minutes), default=0)
    rows = [
        (
            cell(one["time"], now, for_people=for_people),
            f"{one['runs']:,}" if for_people else str(one["runs"]),
            *(("━" * -(-BAR * one["runs"] // most),) if for_people else ()),
            ", ".join(_heavy(job) for job in one.get("heaviest", ())),
        )
        for one in minutes
        if one["runs"]
    ]
    header = ("MINUTE", "RUNS", *(("",) if for_people else ()), "HEAVIEST")
    print_rows(header, rows, f"No run is scheduled for the next {len(minutes)} minutes.")


def _heavy(job: Mapping[str, Any]) -> str:
    name = job.get("name") or job["job_id"]
    return str(name) if job["runs"] == 1 else f"{name} ×{job['runs']:,}"
