"""`onthedot workflow`: start workflows, and show how far they are."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents, print_document
from onthedot.cli.common.moments import cell, this_moment
from onthedot.cli.common.names import JobName, job_named
from onthedot.cli.jobs.job_options import read_json
from onthedot.cli.limit_text import is_for_people, json_option, print_next, print_rows
from onthedot.cli.text import printable
from onthedot.cli.where import api_options
from onthedot.client import requests

MOST_SHOWN: Final = 40
"""Jobs that people see. A pipe and --json get all."""
_RANKS: Final = {"FAILED": 0, "RUNNING": 0, "RETRYING": 0, "SUCCEEDED": 2, "WAITING": 2}
COLUMNS: Final = ("KEY", "STATUS", "AFTER", "STARTED", "ENDED", "JOB", "WHY")


@click.group()
def workflow() -> None:
    """Start workflows, and show how far they are.

    A workflow is a graph of jobs that wait for each other.

    \b
    Example:
      onthedot workflow start @nightly.json
    """


@workflow.command("start")
@click.argument("document", metavar="JSON|@FILE|-")
@api_options
@json_option
def start(document: str, url: str | None, token: str | None, as_json: bool) -> None:
    """Start the workflow of a JSON document, as POST /v1/workflows takes it.

    It is accepted with all of its jobs or not at all. Exit code 3: it is refused, and the message names each field.

    \b
    Example:
      onthedot workflow start @nightly.json
    """
    try:
        fields = read_json(document)
    except (ValueError, OSError) as error:
        raise click.UsageError(f"JSON|@FILE|-: {error}") from error
    if not isinstance(fields, dict):
        raise click.UsageError("JSON|@FILE|-: is no object; give one with the field jobs")
    made = Documents(url, token).ask(requests.workflow_document(fields))
    if as_json:
        print_document(made)
        return
    title = f"{printable(made['name'])} ({made['workflow_id']})" if made.get("name") else str(made["workflow_id"])
    click.echo(f"Workflow {title} has {len(made['jobs']):,} jobs and is {made['status']}.")
    print_next(f"onthedot workflow show {made['workflow_id']}")


@workflow.command("show")
@click.argument("workflow_id", metavar="WORKFLOW", type=JobName())
@api_options
@json_option
def show(workflow_id: str, url: str | None, token: str | None, as_json: bool) -> None:
    """Show a workflow with the statuses of its jobs.

    Exit code 4: there is no such workflow.

    \b
    Example:
      onthedot workflow show job_p4lr2upbz3zjp5vfk4bckgyzhm
    """
    workflow_id = job_named(workflow_id, url, token)
    api = Documents(url, token, f"there is no workflow {printable(workflow_id)}")
    found = api.ask(requests.get_workflow(workflow_id))
    if as_json:
        print_document(found)
        return
    done, total = found["progress"]["ended"], found["progress"]["total"]
    why = f": {printable(found['reason'])}" if found.get("reason") else ""
    name = printable(found.get("name") or workflow_id)
    click.echo(f"{name} is {found['status']}{why}, {done:,} of {total:,} jobs ended.")
    now, for_people = this_moment(), is_for_people()
    jobs = _worth_a_look(found["jobs"]) if for_people else found["jobs"]
    hidden = {"JOB"} if for_people else set()
    shown = [place for place, name in enumerate(COLUMNS) if name not in hidden]
    rows = [_row(one, now, for_people=for_people) for one in jobs]
    header = [COLUMNS[place] for place in shown]
    print_rows(header, [[row[place] for place in shown] for row in rows], "It has no job yet.")
    if len(jobs) < len(found["jobs"]):
        click.secho(f"… and {len(found['jobs']) - len(jobs):,} more: --json has all.", dim=True, err=True)


def _worth_a_look(jobs: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """Return as many jobs as a screen has room for, in their order. Jobs that failed, run or may run go first."""
    chosen = sorted(range(len(jobs)), key=lambda place: _RANKS.get(jobs[place]["status"], 1))[:MOST_SHOWN]
    return [jobs[place] for place in sorted(chosen)]


def _row(job: dict[str, Any], now: datetime, *, for_people: bool) -> tuple[str, ...]:
    return (
        str(job["key"]),
        str(job["status"]),
        ", ".join(job["depends_on"]) or "-",
        cell(job["started_at"], now, for_people=for_people),
        cell(job["finished_at"], now, for_people=for_people),
        str(job["job_id"] or "-"),
        str(job["reason"] or "-"),
    )
