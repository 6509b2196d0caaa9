"""`onthedot workers`: list pull workers."""

from datetime import datetime
from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents, print_document
from onthedot.cli.common.moments import distance, read_moment, this_moment
from onthedot.cli.limit_text import is_for_people, json_option, print_rows
from onthedot.cli.where import api_options
from onthedot.client import operations

COLUMNS: Final = ("WORKER", "POOL", "STATUS", "RUNS", "HEARTBEAT", "CAPABILITIES")
STATUSES: Final = ("ACTIVE", "DRAINING", "LOST", "STOPPED")


@click.command()
@click.option("--status", type=click.Choice(STATUSES, case_sensitive=False), help="Only those with this status.")
@api_options
@json_option
def workers(status: str | None, url: str | None, token: str | None, as_json: bool) -> None:
    """List the pull workers that may run your jobs.

    RUNS is how many runs a worker has, of how many at a time.

    \b
    Example:
      onthedot workers --status active
    """
    found = Documents(url, token).ask(operations.workers(status))["workers"]
    if as_json:
        for one in found:
            print_document(one)
        return
    now, for_people = this_moment(), is_for_people()
    rows = [_row(one, now, for_people=for_people) for one in found]
    print_rows(COLUMNS, rows, "There is no such worker. Start one: onthedot worker --pool NAME")


def _row(worker: dict[str, Any], now: datetime, *, for_people: bool) -> tuple[str, ...]:
    beat = read_moment(worker["heartbeat_at"])
    return (
        str(worker["worker_id"]),
        str(worker["pool"]),
        str(worker["status"]),
        f"{worker['used']['concurrency']} of {worker['resources']['concurrency']}",
        distance(beat, now) if beat and for_people else str(worker["heartbeat_at"]),
        ", ".join(worker["capabilities"]) or "-",
    )
