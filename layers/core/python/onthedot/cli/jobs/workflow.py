"""`onthedot workflow`: start workflows, and show their progress."""

from collections.abc import Sequence
from typing import Any, Final

import click

from onthedot.cli.documents import Documents, JobName, find_job
from onthedot.cli.jobs.job_options import read_json
from onthedot.cli.options import on_api
from onthedot.cli.output import Cells, counted, is_for_people, print_document, print_next, print_rows, printable, titled
from onthedot.client import requests

MAX_SHOWN: Final = 40
"""Jobs that people see. A pipe and --json get all."""
_RANKS: Final = {"FAILED": 0, "RUNNING": 0, "RETRYING": 0, "SUCCEEDED": 2, "WAITING": 2}
COLUMNS: Final = ("KEY", "STATUS", "AFTER", "STARTED", "ENDED", "JOB", "WHY")


@click.group()
def workflow() -> None:
    """Start workflows, and show their progress.

    A workflow is a graph of jobs that depend on each other.

    \b
    Example:
      onthedot workflow start @nightly.json
    """


@workflow.command()
@click.argument("document", metavar="JSON|@FILE|-")
@on_api
def start(document: str, api: Documents, as_json: bool) -> None:
    """Start a workflow from a JSON document, as POST /v1/workflows takes it.

    Either all of its jobs are accepted or none are. Exit code 3: the API refused it; the message names each field at
    fault.

    \b
    Example:
      onthedot workflow start @nightly.json
    """
    try:
        fields = read_json(document)
    except (ValueError, OSError) as error:
        raise click.UsageError(f"JSON|@FILE|-: {error}") from error
    if not isinstance(fields, dict):
        raise click.UsageError("JSON|@FILE|-: is not an object; give one with the field jobs")
    made = api.ask(requests.workflow_document(fields))
    if as_json:
        print_document(made)
        return
    title = titled(made.get("name"), made["workflow_id"])
    click.echo(f"Workflow {title} has {counted(len(made['jobs']), 'job')} and is {made['status']}.")
    print_next(f"onthedot workflow show {made['workflow_id']}")


@workflow.command()
@click.argument("wanted", metavar="WORKFLOW", type=JobName())
@on_api
def show(wanted: str, api: Documents, as_json: bool) -> None:
    """Show a workflow and the status of each of its jobs.

    Exit code 4: there is no such workflow.

    \b
    Example:
      onthedot workflow show job_p4lr2upbz3zjp5vfk4bckgyzhm
    """
    workflow_id = find_job(api, wanted)
    found = api.ask(requests.get_workflow(workflow_id), f"there is no workflow {printable(workflow_id)}")
    if as_json:
        print_document(found)
        return
    done, total = found["progress"]["ended"], found["progress"]["total"]
    why = f": {printable(found['reason'])}" if found.get("reason") else ""
    name = printable(found.get("name") or workflow_id)
    click.echo(f"{name} is {found['status']}{why}, {done:,} of {counted(total, 'job')} ended.")
    jobs, cells = _worth_a_look(found["jobs"]) if is_for_people() else found["jobs"], Cells()
    print_rows(COLUMNS, [_row(one, cells) for one in jobs], "It has no jobs yet.", hidden={"JOB"})
    if len(jobs) < len(found["jobs"]):
        click.secho(f"… and {len(found['jobs']) - len(jobs):,} more: --json shows all.", dim=True, err=True)


def _worth_a_look(jobs: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """Return as many jobs as a screen has room for, in their order: first those that failed, run or may run."""
    chosen = sorted(range(len(jobs)), key=lambda place: _RANKS.get(jobs[place]["status"], 1))[:MAX_SHOWN]
    return [jobs[place] for place in sorted(chosen)]


def _row(job: dict[str, Any], cells: Cells) -> tuple[str, ...]:
    return (
        str(job["key"]),
        str(job["status"]),
        ", ".join(job["depends_on"]) or "-",
        cells.time(job["started_at"]),
        cells.time(job["finished_at"]),
        str(job["job_id"] or "-"),
        str(job["reason"] or "-"),
    )
