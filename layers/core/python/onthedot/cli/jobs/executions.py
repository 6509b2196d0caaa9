"""`onthedot executions`: list the executions of a job."""

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents, Id, missing_job, print_document
from onthedot.cli.common.moments import cell, read_moment, this_moment
from onthedot.cli.limit_text import is_for_people, json_option, print_next, print_rows
from onthedot.cli.text import printable
from onthedot.cli.where import api_options
from onthedot.client import requests

COLUMNS: Final = ("FIRE TIME", "STATUS", "LATE", "TOOK", "TRIES", "JOB", "EXECUTION", "WHY")
STATUSES: Final = (
    *("PENDING", "DISPATCHED", "RUNNING", "RETRYING", "SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED", "WAITING"),
)


@click.command()
@click.argument("job_id", type=Id())
@click.option("--status", type=click.Choice(STATUSES, case_sensitive=False), help="Only those with this status.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Most that are listed.")
@api_options
@json_option
def executions(
    job_id: str, *, status: str | None, limit: int, url: str | None, token: str | None, as_json: bool
) -> None:
    """List the executions of a job, the newest first.

    A range of skipped fire times is one line. A pipe and --json get the ids of the executions too. Exit code 4: there
    is no such job.

    \b
    Examples:
      onthedot executions job_p4lr2upbz3zjp5vfk4bckgyzhm
      onthedot executions job_p4lr2upbz3zjp5vfk4bckgyzhm --status failed --json
    """
    api = Documents(url, token, missing_job(job_id))
    pages = api.pages(partial(requests.executions, job_id), "executions")
    found = islice((one for one in pages if status in (None, one["status"])), limit)
    if as_json:
        for one in found:
            print_document(one)
        return
    print_executions(found, f"{printable(job_id)} has no such execution.", of_one_job=True)
    print_next(f"onthedot explain {printable(job_id)}")


def print_executions(found: Iterator[dict[str, Any]], otherwise: str, *, of_one_job: bool = False) -> int:
    """Print executions as rows, or a sentence to stderr. Return how many there are.

    A terminal has no room for the ids of executions beside the reason. A pipe gets them.
    """
    now, for_people = this_moment(), is_for_people()
    rows = [_row(one, now, for_people=for_people) for one in found]
    hidden = {"EXECUTION"} | ({"JOB"} if of_one_job else set()) if for_people else set()
    shown = [place for place, name in enumerate(COLUMNS) if name not in hidden]
    header = [COLUMNS[place] for place in shown]
    print_rows(header, [[row[place] for place in shown] for row in rows], otherwise, one_line=True)
    return len(rows)


def _row(one: dict[str, Any], now: datetime, *, for_people: bool) -> tuple[str, ...]:
    late = one.get("lateness_ms")
    return (
        cell(one.get("fire_time"), now, for_people=for_people),
        str(one["status"]) + (f" ×{one['count']:,}" if one.get("count", 1) > 1 else ""),
        "-" if late is None else f"{late / 1000:,.3f} s",
        _took(one),
        str(len(one.get("attempts") or ())),
        str(one["job_id"]),
        str(one["execution_id"]),
        str(one.get("error") or one.get("reason") or "-"),
    )


def _took(one: dict[str, Any]) -> str:
    """Return the time from the first start to the end."""
    started, finished = read_moment(one.get("started_at")), read_moment(one.get("finished_at"))
    return "-" if started is None or finished is None else f"{(finished - started).total_seconds():,.3f} s"
