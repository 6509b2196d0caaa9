"""`onthedot workers`: list pull workers."""

from datetime import datetime
from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents, print_document
from onthedot.cli.common.durations import briefly
from onthedot.cli.common.moments import read_moment, this_moment
from onthedot.cli.limit_text import is_for_people, json_option, print_next, print_rows
from onthedot.cli.text import printable
from onthedot.cli.where import api_options
from onthedot.client import requests

COLUMNS: Final = ("WORKER", "POOL", "STATUS", "RUNS", "CPU", "MEMORY MB", "STORAGE MB", "HEARTBEAT", "CAPABILITIES")
_RESOURCES: Final = ("concurrency", "cpu", "memory_mb", "storage_mb")
STATUSES: Final = ("ACTIVE", "DRAINING", "LOST", "STOPPED")


@click.command()
@click.option("--status", type=click.Choice(STATUSES, case_sensitive=False), help="Only those with this status.")
@api_options
@json_option
def workers(status: str | None, url: str | None, token: str | None, as_json: bool) -> None:
    """List the pull workers that may run your jobs.

    RUNS is how many runs a worker has, of how many at a time. CPU, MEMORY and STORAGE are what these runs asked
    for, of what the worker has.

    \b
    Example:
      onthedot workers --status active
    """
    found = Documents(url, token).ask(requests.workers(status))["workers"]
    if as_json:
        for one in found:
            print_document(one)
        return
    now, for_people = this_moment(), is_for_people()
    rows = [_row(one, now, for_people=for_people) for one in found]
    print_rows(COLUMNS, rows, "There is no such worker. Start one: onthedot worker --pool NAME")
    if found:
        print_next(f"onthedot executions --worker {printable(str(found[0]['worker_id']))}", "onthedot queues")


def _row(worker: dict[str, Any], now: datetime, *, for_people: bool) -> tuple[str, ...]:
    beat = read_moment(worker["heartbeat_at"])
    return (
        str(worker["worker_id"]),
        str(worker["pool"]),
        str(worker["status"]),
        *(_used(worker, name, for_people=for_people) for name in _RESOURCES),
        _ago(beat, now) if beat and for_people else str(worker["heartbeat_at"]),
        ", ".join(sorted(worker["capabilities"], key=lambda one: one.startswith("python:"))) or "-",
    )


def _ago(beat: datetime, now: datetime) -> str:
    return f"{briefly(max(0.0, (now - beat).total_seconds()))} ago"


def _used(worker: dict[str, Any], name: str, *, for_people: bool) -> str:
    """Return how much of a resource is used, of how much there is. An older API does not know all of them.

    People do not need to read that a worker has none of it.
    """
    used, total = worker["used"].get(name), worker["resources"].get(name)
    if for_people and not total and name != "concurrency":
        return "-"
    return "-" if total is None else f"{_number(used or 0)} of {_number(total)}"


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"
