"""`onthedot cancel`, `delete`, `pause`, `resume` and `run`: act on jobs by name, or on all that match filters."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

import click

from onthedot.cli.documents import Documents, JobName, find_job
from onthedot.cli.jobs.job_options import read_json
from onthedot.cli.options import filter_options, on_api, options, read_filters
from onthedot.cli.output import counted, print_document, print_next, print_rows, printable, progress, titled, word
from onthedot.cli.times import in_full, read_moment, this_moment
from onthedot.client import requests
from onthedot.client.options import JobFilter
from onthedot.client.requests import Operation, bulk, list_jobs

MAX_COUNTED: Final = 10_000
"""Jobs that are counted before the question. A larger number says nothing more."""
MAX_COUNT_STEPS: Final = 500
"""A step of a count may find no job and still have a next one."""
MAX_SHOWN: Final = 20


class Act(NamedTuple):
    name: str
    request: Callable[[str], Operation[Any]]
    done: Callable[[dict[str, Any]], str]
    """Says of one job what happened, by the API's answer."""
    all_done: str
    one_done: str

    def sentence(self, count: int) -> str:
        return f"{_jobs(count)} {self.one_done if count == 1 else self.all_done}"


def _cancelled(job: dict[str, Any]) -> str:
    """Say what the answer means: a run that is going on ends only when its worker has heard of it."""
    if job.get("status") != "RUNNING":
        return "is cancelled"
    return "is still running: it was asked to stop, and stops at its next heartbeat unless it ends first"


def _resumed(job: dict[str, Any]) -> str:
    moment = read_moment(job.get("next_fire_time"))
    return "is resumed" + ("" if moment is None else f", next {in_full(moment, this_moment())}")


CANCEL: Final = Act(
    "cancel",
    requests.cancel,
    _cancelled,
    "are cancelled, or asked to stop if running",
    "is cancelled, or asked to stop if running",
)
PAUSE: Final = Act("pause", requests.pause, lambda _: "is paused", "are paused", "is paused")
RESUME: Final = Act("resume", requests.resume, _resumed, "are resumed", "is resumed")
DELETE: Final = Act("delete", requests.delete, lambda _: "is deleted", "are deleted", "is deleted")
RUN: Final = Act("run", requests.run, lambda one: f"runs now as {one['execution_id']}", "run now", "runs now")


def on_jobs(command: Callable[..., None]) -> Callable[..., Any]:
    """Add the jobs and the options of a command that acts on some jobs by name, or on many by filters."""
    return options(
        click.argument("jobs", metavar="[JOB]...", nargs=-1, type=JobName()),
        click.option("--all", "everything", is_flag=True, help="All jobs that match the filters."),
        filter_options,
        click.option("--dry-run", is_flag=True, help="With --all: show the jobs, and change nothing."),
        click.option("--yes", is_flag=True, help="With --all: do not ask for confirmation."),
    )(on_api(command))


@click.command()
@on_jobs
def cancel(**given: Any) -> None:
    """Cancel jobs for good.

    A running job is asked to stop; it learns of this at its next heartbeat. If one job cannot be cancelled, the others
    still are. Exit code 4: there is no such job.

    \b
    Examples:
      onthedot cancel report
      onthedot cancel --all --tag customer=42 --dry-run
    """
    _act(CANCEL, **given)


@click.command()
@on_jobs
def pause(**given: Any) -> None:
    """Pause jobs.

    A paused job starts no runs until you resume it. Exit code 4: there is no such job.

    \b
    Examples:
      onthedot pause report
      onthedot pause --all --kind recurring --name report-
    """
    _act(PAUSE, **given)
    if given["jobs"] and not given["as_json"]:
        print_next(f"onthedot resume {' '.join(map(word, given['jobs']))}")


@click.command()
@on_jobs
def resume(**given: Any) -> None:
    """Resume paused jobs.

    Exit code 4: there is no such job.

    \b
    Examples:
      onthedot resume report
      onthedot resume --all --status paused --tag team=billing
    """
    _act(RESUME, **given)


@click.command()
@on_jobs
def delete(**given: Any) -> None:
    """Delete jobs.

    A deleted job never fires again and is no longer listed. Exit code 4: there is no such job.

    \b
    Examples:
      onthedot delete report
      onthedot delete --all --status cancelled --kind recurring --yes
    """
    _act(DELETE, **given)


@click.command()
@on_jobs
@click.option("--payload", metavar="JSON|@FILE|-", help="Payload for this run only.  [default: the job's]")
def run(payload: str | None, **given: Any) -> None:
    """Run a job now, in addition to its schedule.

    If the response is lost, the call is not retried, because each call starts a run. Exit code 4: there is no such job.

    \b
    Examples:
      onthedot run report
      onthedot run send-email --payload '{"to": "x@y.z"}'
      onthedot run --all --tag team=billing --dry-run
    """
    if payload is not None and given["everything"]:
        raise click.UsageError("--payload works only with JOB")
    try:
        read = None if payload is None else read_json(payload)
    except (ValueError, OSError) as error:
        raise click.UsageError(f"--payload: {error}") from error
    _act(RUN._replace(request=partial(requests.run, payload=read)), **given)
    if given["jobs"] and not given["as_json"]:
        print_next(f"onthedot executions {word(given['jobs'][0])}")


def _act(act: Act, jobs: Sequence[str], api: Documents, *, everything: bool, as_json: bool, **given: Any) -> None:
    """Act on the jobs that were named, or with `--all` on all that match the filters. Raise click.UsageError."""
    filters, dry_run, yes = read_filters(given), given["dry_run"], given["yes"]
    if everything == bool(jobs):
        raise click.UsageError("say which jobs: either JOB, or --all with filters such as --name and --tag")
    if jobs and (filters or dry_run):
        raise click.UsageError("filters and --dry-run work only with --all")
    if everything and not filters:
        raise click.UsageError("--all needs a filter, such as --name, --tag or --kind")
    if jobs:
        _each(act, api, jobs, as_json=as_json)
    elif dry_run and as_json:
        for document in _steps(api, act, filters, dry_run=True):
            print_document(document)
    else:
        _act_on_many(act, api, filters, dry_run=dry_run, yes=yes, as_json=as_json)


def _act_on_many(act: Act, api: Documents, filters: JobFilter, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    found, is_all = _count(api, act, filters)
    if dry_run or not found:
        _show(api, act, filters, found, is_all=is_all)
        return
    if not yes:
        click.confirm(f"{act.name.capitalize()} {_jobs(found, is_all)}?", abort=True, err=True)
    _apply(api, act, filters, found, as_json=as_json)


def _each(act: Act, api: Documents, jobs: Sequence[str], *, as_json: bool) -> None:
    """Act on one job after the other. One failure does not stop the others: the exit code is that of the first failure.

    An API that does not answer ends the command at once.
    """
    failures = []
    for job in jobs:
        try:
            job_id = find_job(api, job)
            document = api.ask(act.request(job_id), job=job)
        except click.ClickException as failure:
            if failure.exit_code not in (2, 3, 4) or len(jobs) == 1:
                raise
            failure.show()
            failures.append(failure)
            continue
        if as_json:
            print_document(document)
            continue
        name = document.get("name") or (job if job != job_id else None)
        click.echo(f"{titled(name, job_id)} {act.done(document)}.")
    if failures:
        raise click.exceptions.Exit(failures[0].exit_code)


def _steps(api: Documents, act: Act, filters: JobFilter, *, dry_run: bool) -> Iterator[dict[str, Any]]:
    return api.steps(lambda cursor: bulk(act.name, filters, dry_run=dry_run, cursor=cursor))


def _count(api: Documents, act: Act, filters: JobFilter) -> tuple[int, bool]:
    """Return how many jobs match, and whether these are all."""
    found = 0
    for number, document in enumerate(_steps(api, act, filters, dry_run=True), 1):
        found += document["matched"]
        if document["next_cursor"] is not None and (found >= MAX_COUNTED or number >= MAX_COUNT_STEPS):
            return found, False
    return found, True


def _show(api: Documents, act: Act, filters: JobFilter, found: int, *, is_all: bool) -> None:
    if not found:
        click.echo("No jobs match these filters.", err=True)
        return
    first = [*islice(api.pages(lambda cursor: list_jobs(filters, cursor, MAX_SHOWN), "jobs"), MAX_SHOWN)]
    print_rows(("JOB", "NAME", "STATUS"), [(job["job_id"], job["name"] or "-", job["status"]) for job in first])
    more = f"… and {found - len(first):,} more\n" if found > len(first) else ""
    click.echo(f"{more}Would {act.name} {_jobs(found, is_all)}.", err=True)


def _apply(api: Documents, act: Act, filters: JobFilter, found: int, *, as_json: bool) -> None:
    """Act on all jobs. When a step fails, print how far those before it came. Raise Exit if it failed for a job."""
    done, failures = 0, list[Mapping[str, Any]]()
    with progress() as bar:
        try:
            for document in _steps(api, act, filters, dry_run=False):
                done += document["done"]
                failures += document["failures"]
                bar.show(done + len(failures), max(found, done + len(failures)))
                if as_json:
                    print_document(document)
        except click.ClickException:
            click.echo(f"{act.sentence(done)} so far. Run the command again to continue.", err=True)
            raise
    if not as_json:
        click.echo(f"{act.sentence(done)}.")
    for one in failures[:MAX_SHOWN]:
        click.echo(f"{printable(one['id'])}: {printable(one['message'])}", err=True)
    if len(failures) > MAX_SHOWN:
        click.echo(f"… and {len(failures) - MAX_SHOWN:,} more failures", err=True)
    if failures:
        raise click.exceptions.Exit(1)


def _jobs(count: int, is_all: bool = True) -> str:
    return counted(count, "job") if is_all else f"more than {count:,} jobs"
