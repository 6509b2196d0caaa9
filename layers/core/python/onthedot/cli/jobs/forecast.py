"""`onthedot forecast`: count the runs of each coming minute."""

from collections.abc import Sequence
from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents, print_document
from onthedot.cli.common.moments import cell, this_moment
from onthedot.cli.limit_text import is_for_people, json_option, print_rows
from onthedot.cli.where import api_options
from onthedot.client import operations

BAR: Final = 40
"""Characters of the longest bar."""


@click.command()
@click.option("--minutes", type=click.IntRange(1), default=15, show_default=True, help="How many minutes ahead.")
@api_options
@json_option
def forecast(minutes: int, url: str | None, token: str | None, as_json: bool) -> None:
    """Count the runs of each coming minute.

    It counts runs that wait, that were sent to a queue, and that recurring jobs will have.

    \b
    Example:
      onthedot forecast --minutes 60
    """
    found = Documents(url, token).ask(operations.forecast(minutes))
    if as_json:
        print_document(found)
        return
    _print(found["minutes"])
    if found["truncated"]:
        click.echo("There are more runs than were counted.", err=True)


def _print(minutes: Sequence[dict[str, Any]]) -> None:
    """Print a row for each minute that has runs, with a bar for people."""
    now, for_people = this_moment(), is_for_people()
    most = max((one["runs"] for one in minutes), default=0)
    rows = [
        (
            cell(one["time"], now, for_people=for_people),
            f"{one['runs']:,}" if for_people else str(one["runs"]),
            *(("━" * -(-BAR * one["runs"] // most),) if for_people else ()),
        )
        for one in minutes
        if one["runs"]
    ]
    header = ("MINUTE", "RUNS", *(("",) if for_people else ()))
    print_rows(header, rows, f"No run is scheduled for the next {len(minutes)} minutes.")
