"""`onthedot executions`: list the executions of a job or a worker, or running or failed ones."""

from collections.abc import Collection, Iterator
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents, Id, missing_job, print_document
from onthedot.cli.common.durations import briefly
from onthedot.cli.common.moments import cell, read_moment, this_moment
from onthedot.cli.common.names import JobName, job_named
from onthedot.cli.common.running import progress_in_words, reported
from onthedot.cli.jobs.by_name import MOST_COUNTED, print_by_name
from onthedot.cli.jobs.listed_rows import in_short
from onthedot.cli.limit_text import is_for_people, json_option, print_next, print_rows
from onthedot.cli.text import printable
from onthedot.cli.where import api_options
from onthedot.client import requests

COLUMNS: Final = ("FIRE TIME", "STATUS", "LATE", "TOOK", "TRIES", "NAME", "JOB", "EXECUTION", "WHY", "PROGRESS")
STATUSES: Final = (
    *("PENDING", "DISPATCHED", "RUNNING", "RETRYING", "SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED", "WAITING"),
    "PAUSED",
)
ALONE: Final = ("RUNNING", "FAILED")
"""The statuses that are listed without a job or a worker."""


@click.command()
@click.argument("job_id", metavar="[JOB]", type=JobName(), required=False)
@click.option("--worker", "worker_id", type=Id(), help="What this pull worker runs now, and its latest 100.")
@click.option("--status", type=click.Choice(STATUSES, case_sensitive=False), help="Only those with this status.")
@click.option("--by", type=click.Choice(["name"]), help="Count them by the names of their jobs.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Most that are listed.")
@api_options
@json_option
def executions(
    job_id: str | None,
    *,
    worker_id: str | None,
    status: str | None,
    by: str | None,
    limit: int,
    url: str | None,
    token: str | None,
    as_json: bool,
) -> None:
    """List executions of a job or a worker, or by status.

    Name a job, or a --worker, or only --status running or failed. The newest is the first. A range of skipped fire
    times is one line. A pipe and --json get the ids too. --status running --by name says which jobs use the capacity.
    Exit code 4: there is no such job or worker.

    \b
    Examples:
      onthedot executions job_p4lr2upbz3zjp5vfk4bckgyzhm --status failed
      onthedot executions --status running --by name
      onthedot executions --worker worker_8f2a41c09bd3e677 --json
    """
    if job_id is None and worker_id is None and status not in ALONE:
        raise click.UsageError("say which: JOB, or --worker, or --status running or failed")
    wanted, job_id = job_id, None if job_id is None else job_named(job_id, url, token)
    api = Documents(url, token, _missing(job_id, worker_id))
    found = islice(_found(api, job_id, worker_id, status), MOST_COUNTED if by else limit)
    if by:
        print_by_name(found, limit, as_json=as_json)
        return
    if as_json:
        for one in found:
            print_document(one)
        return
    known = ("STATUS",) if status else ()
    shown = print_executions(found, _none(job_id), of_one_job=job_id is not None, also_hidden=known)
    if wanted is not None:
        print_next(f"onthedot explain {printable(wanted)}")
    elif shown and status == "FAILED":
        print_next("onthedot dead-letters --by cause")


def _found(api: Documents, job: str | None, worker: str | None, status: str | None) -> Iterator[dict[str, Any]]:
    return api.pages(partial(requests.executions, job=job, worker=worker, status=status), "executions")


def _missing(job_id: str | None, worker_id: str | None) -> str:
    if worker_id is not None:
        return f"there is no pull worker {printable(worker_id)}"
    return missing_job(job_id or "")


def _none(job_id: str | None) -> str:
    return "There is no such execution." if job_id is None else f"{printable(job_id)} has no such execution."


def print_executions(
    found: Iterator[dict[str, Any]], otherwise: str, *, of_one_job: bool = False, also_hidden: Collection[str] = ()
) -> int:
    """Print executions as rows, or a sentence to stderr. Return how many there are.

    A terminal has no room for the ids and `also_hidden` beside the reason. A pipe gets them.
    """
    now, for_people = this_moment(), is_for_people()
    rows = [_row(one, now, for_people=for_people) for one in found]
    hidden = {"JOB", "EXECUTION", *also_hidden} | ({"NAME"} if of_one_job else set()) if for_people else set()
    shown = [place for place, name in enumerate(COLUMNS) if name not in hidden]
    header = [COLUMNS[place] for place in shown]
    print_rows(header, [[row[place] for place in shown] for row in rows], otherwise)
    return len(rows)


def _row(one: dict[str, Any], now: datetime, *, for_people: bool) -> tuple[str, ...]:
    late = one.get("lateness_ms")
    return (
        cell(one.get("fire_time"), now, for_people=for_people),
        str(one["status"]) + (f" ×{one['count']:,}" if one.get("count", 1) > 1 else ""),
        "-" if late is None else _seconds(late / 1000, for_people=for_people),
        _took(one, for_people=for_people),
        str(len(one.get("attempts") or ())),
        str(one.get("name") or (one["job_id"] if for_people else "-")),
        str(one["job_id"]),
        str(one["execution_id"]),
        _why(one, for_people=for_people),
        (progress_in_words(one, now) if for_people else reported(one)) or "-",
    )


def _why(one: dict[str, Any], *, for_people: bool) -> str:
    """Return why an execution has its status. The error of an earlier attempt is no news about one that runs."""
    if for_people and one["status"] == "RUNNING":
        return "-"
    why = str(one.get("error") or one.get("reason") or "-")
    return in_short(why) if for_people else why


def _took(one: dict[str, Any], *, for_people: bool) -> str:
    """Return the time from the start to the end."""
    started, finished = read_moment(one.get("started_at")), read_moment(one.get("finished_at"))
    if started is None or finished is None:
        return "-"
    return _seconds((finished - started).total_seconds(), for_people=for_people)


def _seconds(seconds: float, *, for_people: bool) -> str:
    return briefly(seconds) if for_people else f"{seconds:,.3f} s"
