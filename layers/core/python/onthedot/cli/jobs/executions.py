"""`onthedot executions`: list the executions of a job or a worker, or running or failed ones."""

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

import click

from onthedot.cli.documents import Documents, Id, JobName, find_job
from onthedot.cli.jobs.get import progress_in_words, reported
from onthedot.cli.jobs.listing import in_short
from onthedot.cli.options import RUN_STATUSES, limit_option, on_api
from onthedot.cli.output import Cells, print_document, print_list, print_next, print_rows, printable, word
from onthedot.cli.times import read_moment
from onthedot.client import requests

COLUMNS: Final = ("FIRE TIME", "STATUS", "LATE", "TOOK", "TRIES", "NAME", "JOB", "EXECUTION", "WHY", "PROGRESS")
NAME_COLUMNS: Final = ("COUNT", "NAME", "JOBS", "POOL", "LONGEST")
ALONE: Final = ("RUNNING", "FAILED")
"""The statuses that are listed without a job or a worker."""
MAX_COUNTED: Final = 10_000
"""Executions that are counted. A larger number says nothing more."""


@click.command()
@click.argument("job", metavar="[JOB]", type=JobName(), required=False)
@click.option("--worker", type=Id(), help="What this pull worker is running, and its latest 100 executions.")
@click.option(
    "--status", type=click.Choice(RUN_STATUSES, case_sensitive=False), help="Only executions with this status."
)
@click.option("--by", type=click.Choice(["name"]), help="Count executions by the name of their job.")
@limit_option
@on_api
def executions(
    job: str | None,
    *,
    worker: str | None,
    status: str | None,
    by: str | None,
    limit: int,
    api: Documents,
    as_json: bool,
) -> None:
    """List executions of a job or a worker, or by status.

    Give a job, a --worker, or just --status running or failed. The newest come first, and a range of skipped fire times
    takes one line. Piped output and --json include the ids. To see which jobs use the capacity, try --status running
    --by name. Exit code 4: there is no such job or worker.

    \b
    Examples:
      onthedot executions job_p4lr2upbz3zjp5vfk4bckgyzhm --status failed
      onthedot executions --status running --by name
      onthedot executions --worker worker_8f2a41c09bd3e677 --json
    """
    if job is None and worker is None and status not in ALONE:
        raise click.UsageError("say which: JOB, --worker, or --status running or failed")
    job_id = None if job is None else find_job(api, job)
    missing = None if worker is None else f"there is no pull worker {printable(worker)}"
    page = partial(requests.executions, job=job_id, worker=worker, status=status)
    found = islice(api.pages(page, "executions", missing=missing, job=job_id), MAX_COUNTED if by else limit)
    if by:
        _print_by_name(found, limit, as_json=as_json)
        return
    none = "There are no such executions." if job_id is None else f"{printable(job_id)} has no such executions."
    hidden = [*(["STATUS"] if status else []), *(["NAME"] if job else [])]
    shown = print_executions(found, none, hidden, as_json=as_json)
    if job is not None and not as_json:
        print_next(f"onthedot explain {word(job)}")
    elif shown and status == "FAILED" and not as_json:
        print_next("onthedot dead-letters --by cause")


def print_executions(
    found: Iterable[dict[str, Any]], otherwise: str, hidden: Collection[str] = (), *, as_json: bool
) -> list[dict[str, Any]]:
    """Print executions and return them. A terminal has no room for ids and `hidden` columns next to the reason."""
    cells = Cells()
    return print_list(
        found, COLUMNS, lambda one: _row(one, cells), otherwise, as_json=as_json, hidden={"JOB", "EXECUTION", *hidden}
    )


def _row(one: dict[str, Any], cells: Cells) -> tuple[str, ...]:
    late = one.get("lateness_ms")
    started, finished = read_moment(one.get("started_at")), read_moment(one.get("finished_at"))
    took = None if started is None or finished is None else (finished - started).total_seconds()
    return (
        cells.time(one.get("fire_time")),
        str(one["status"]) + (f" ×{one['count']:,}" if one.get("count", 1) > 1 else ""),
        cells.seconds(None if late is None else late / 1000),
        cells.seconds(took),
        str(len(one.get("attempts") or ())),
        str(one.get("name") or (one["job_id"] if cells.for_people else "-")),
        str(one["job_id"]),
        str(one["execution_id"]),
        _why(one, for_people=cells.for_people),
        (progress_in_words(one, cells.now) if cells.for_people else reported(one)) or "-",
    )


def _why(one: dict[str, Any], *, for_people: bool) -> str:
    """Return why an execution has its status. An earlier attempt's error says nothing about a running one."""
    if for_people and one["status"] == "RUNNING":
        return "-"
    why = str(one.get("error") or one.get("reason") or "-")
    return in_short(why) if for_people else why


def _print_by_name(found: Iterable[dict[str, Any]], limit: int, *, as_json: bool) -> None:
    """Print how many executions the jobs of each name have, the most first. A job without a name is alone."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for one in found:
        groups.setdefault(str(one.get("name") or one["job_id"]), []).append(one)
    largest = sorted(groups.items(), key=lambda group: len(group[1]), reverse=True)
    counted = [_counted(name, ones) for name, ones in largest[:limit]]
    if as_json:
        for document in counted:
            print_document(document)
        return
    cells = Cells()
    print_rows(NAME_COLUMNS, [_name_row(one, cells) for one in counted], "There are no such executions.")
    if (total := sum(len(ones) for ones in groups.values())) == MAX_COUNTED:
        click.echo(f"Only the newest {total:,} were counted.", err=True)
    if counted:
        print_next(f"onthedot list --name {word(counted[0]['name'])}")


def _counted(name: str, ones: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "name": name,
        "executions": len(ones),
        "jobs": len({one["job_id"] for one in ones}),
        "pools": sorted({str(one["pool"]) for one in ones if one.get("pool")}),
        "longest_running_ms": max((one.get("running_ms") or 0 for one in ones), default=0) or None,
    }


def _name_row(one: dict[str, Any], cells: Cells) -> tuple[str, ...]:
    longest = one["longest_running_ms"]
    pools = ", ".join(one["pools"]) or "-"
    ran = cells.seconds(None if longest is None else longest / 1000)
    return f"{one['executions']:,}", one["name"], f"{one['jobs']:,}", pools, ran
