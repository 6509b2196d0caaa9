"""`onthedot cancel`, `delete`, `pause` and `resume`: change jobs by their ids or names, or all that pass filters."""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import click

from onthedot.cli.common.documents import Documents, missing_job, print_document
from onthedot.cli.common.filters import filter_options, read_filters
from onthedot.cli.common.moments import in_full, read_moment, this_moment
from onthedot.cli.common.names import JobName, find_job
from onthedot.cli.jobs.bulk import Act, act_on_many
from onthedot.cli.limit_text import json_option, print_next
from onthedot.cli.text import printable
from onthedot.cli.where import api_options
from onthedot.client import requests
from onthedot.client.requests import Operation

Command = TypeVar("Command", bound=Callable[..., Any])
CANCEL: Final = Act("cancel", "are cancelled, or asked to stop if running")
PAUSE: Final = Act("pause", "are paused")
RESUME: Final = Act("resume", "are resumed")
DELETE: Final = Act("delete", "are deleted")


def many_options(command: Command) -> Command:
    """Add the jobs and the options of a command that changes some jobs by name, or many by filters."""
    for option in (
        json_option,
        api_options,
        click.option("--yes", is_flag=True, help="Do not ask, with --all."),
        click.option("--dry-run", is_flag=True, help="With --all: show which, and change nothing."),
        filter_options,
        click.option("--all", "everything", is_flag=True, help="All jobs that pass the filters."),
        click.argument("jobs", metavar="[JOB]...", nargs=-1, type=JobName()),
    ):
        command = option(command)
    return command


@click.command()
@many_options
def cancel(jobs: Sequence[str], **options: Any) -> None:
    """Cancel jobs for good.

    A run that goes on is asked to stop, which it learns at its next heartbeat. A job that cannot be cancelled stops no
    other. Exit code 4: there is no such job.

    \b
    Examples:
      onthedot cancel report
      onthedot cancel --all --tag customer=42 --dry-run
    """
    change(jobs, CANCEL, requests.cancel, _cancelled, options)


@click.command()
@many_options
def pause(jobs: Sequence[str], **options: Any) -> None:
    """Pause jobs.

    A paused job starts no run until it is resumed. Exit code 4: there is no such job.

    \b
    Examples:
      onthedot pause report
      onthedot pause --all --kind recurring --name report-
    """
    change(jobs, PAUSE, requests.pause, lambda _: "is paused", options)
    if jobs and not options["as_json"]:
        print_next(f"onthedot resume {' '.join(map(printable, jobs))}")


@click.command()
@many_options
def resume(jobs: Sequence[str], **options: Any) -> None:
    """Resume paused jobs.

    Exit code 4: there is no such job.

    \b
    Examples:
      onthedot resume report
      onthedot resume --all --status paused --tag team=billing
    """
    change(jobs, RESUME, requests.resume, _next_fire, options)


@click.command()
@many_options
def delete(jobs: Sequence[str], **options: Any) -> None:
    """Delete jobs.

    A deleted job never fires again and is not shown any more. Exit code 4: there is no such job.

    \b
    Examples:
      onthedot delete report
      onthedot delete --all --status cancelled --kind recurring --yes
    """
    change(jobs, DELETE, requests.delete, lambda _: "is deleted", options)


def change(
    jobs: Sequence[str],
    act: Act,
    request: Callable[[str], Operation[Any]],
    done: Callable[[dict[str, Any]], str],
    options: dict[str, Any],
) -> None:
    """Change the jobs that were named, or with `--all` all that pass the filters. Raise click.UsageError."""
    filters, as_json = read_filters(options), options["as_json"]
    if options["everything"] == bool(jobs):
        raise click.UsageError("say which jobs: either JOB, or --all with filters such as --name and --tag")
    if jobs and (filters or options["dry_run"]):
        raise click.UsageError("filters and --dry-run work only with --all")
    api = Documents(options["url"], options["token"])
    if jobs:
        _each(api, jobs, request, done, as_json=as_json)
    else:
        act_on_many(api, act, filters, dry_run=options["dry_run"], yes=options["yes"], as_json=as_json)


def _each(
    api: Documents,
    jobs: Sequence[str],
    request: Callable[[str], Operation[Any]],
    done: Callable[[dict[str, Any]], str],
    *,
    as_json: bool,
) -> None:
    """Change one job after the other. One failure stops no other: the exit code is that of the first failure.

    An API that does not answer ends the command at once.
    """
    failures = []
    for job in jobs:
        try:
            job_id = find_job(api, job)
            document = api.ask(request(job_id), missing_job(job))
        except click.ClickException as failure:
            if failure.exit_code not in (2, 3, 4) or len(jobs) == 1:
                raise
            failure.show()
            failures.append(failure)
        else:
            _print(job_id, job, document, as_json, done)
    if failures:
        raise click.exceptions.Exit(failures[0].exit_code)


def _print(
    job_id: str, job: str, document: dict[str, Any], as_json: bool, done: Callable[[dict[str, Any]], str]
) -> None:
    if as_json:
        print_document(document)
        return
    name = document.get("name") or (job if job != job_id else None)
    click.echo(f"{f'{printable(name)} ({printable(job_id)})' if name else printable(job_id)} {done(document)}.")


def _cancelled(job: dict[str, Any]) -> str:
    """Return what the answer says: a run that goes on ends after its worker has learned of it."""
    if job.get("status") != "RUNNING":
        return "is cancelled"
    return "still runs: cancel was asked for; the run stops at its next heartbeat, unless it ends before"


def _next_fire(job: dict[str, Any]) -> str:
    now, moment = this_moment(), read_moment(job.get("next_fire_time"))
    return "is resumed" + ("" if moment is None else f", next {in_full(moment, now)}")
