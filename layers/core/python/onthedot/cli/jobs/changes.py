"""`onthedot cancel`, `delete`, `pause` and `resume`: change jobs by their ids, each on its own."""

from collections.abc import Callable, Sequence
from typing import Any

import click

from onthedot.cli.common.documents import Documents, Id, missing_job, print_document
from onthedot.cli.common.moments import in_full, read_moment, this_moment
from onthedot.cli.limit_text import json_option, print_next
from onthedot.cli.text import printable
from onthedot.cli.where import api_options
from onthedot.client import requests
from onthedot.client.requests import Operation

job_ids = click.argument("job_ids", metavar="JOB_ID...", nargs=-1, required=True, type=Id())


@click.command()
@job_ids
@api_options
@json_option
def cancel(job_ids: Sequence[str], url: str | None, token: str | None, as_json: bool) -> None:
    """Cancel jobs for good.

    A run that goes on is asked to stop. A job that cannot be cancelled stops no other. Exit code 4: there is no such
    job.

    \b
    Example:
      onthedot cancel job_p4lr2upbz3zjp5vfk4bckgyzhm
    """
    _each(job_ids, requests.cancel, lambda _: "is cancelled", url=url, token=token, as_json=as_json)


@click.command()
@job_ids
@api_options
@json_option
def pause(job_ids: Sequence[str], url: str | None, token: str | None, as_json: bool) -> None:
    """Pause jobs.

    A paused job starts no run until it is resumed. Exit code 4: there is no such job.

    \b
    Example:
      onthedot pause job_p4lr2upbz3zjp5vfk4bckgyzhm
    """
    _each(job_ids, requests.pause, lambda _: "is paused", url=url, token=token, as_json=as_json)
    if not as_json:
        print_next(f"onthedot resume {' '.join(map(printable, job_ids))}")


@click.command()
@job_ids
@api_options
@json_option
def resume(job_ids: Sequence[str], url: str | None, token: str | None, as_json: bool) -> None:
    """Resume paused jobs.

    Exit code 4: there is no such job.

    \b
    Example:
      onthedot resume job_p4lr2upbz3zjp5vfk4bckgyzhm
    """
    _each(job_ids, requests.resume, _next_fire, url=url, token=token, as_json=as_json)


@click.command()
@job_ids
@api_options
@json_option
def delete(job_ids: Sequence[str], url: str | None, token: str | None, as_json: bool) -> None:
    """Delete jobs.

    A deleted job never fires again and is not shown any more. Exit code 4: there is no such job.

    \b
    Example:
      onthedot delete job_p4lr2upbz3zjp5vfk4bckgyzhm
    """
    _each(job_ids, requests.delete, lambda _: "is deleted", url=url, token=token, as_json=as_json)


def _each(
    job_ids: Sequence[str],
    request: Callable[[str], Operation[Any]],
    done: Callable[[dict[str, Any]], str],
    *,
    url: str | None,
    token: str | None,
    as_json: bool,
) -> None:
    """Change one job after the other. One failure stops no other: the exit code is that of the first failure.

    An API that does not answer ends the command at once.
    """
    api, failures = Documents(url, token), []
    for job_id in job_ids:
        try:
            document = api.ask(request(job_id), missing_job(job_id))
        except click.ClickException as failure:
            if failure.exit_code not in (3, 4) or len(job_ids) == 1:
                raise
            failure.show()
            failures.append(failure)
        else:
            _print(job_id, document, as_json, done)
    if failures:
        raise click.exceptions.Exit(failures[0].exit_code)


def _print(job_id: str, document: dict[str, Any], as_json: bool, done: Callable[[dict[str, Any]], str]) -> None:
    if as_json:
        print_document(document)
        return
    name = document.get("name")
    click.echo(f"{f'{printable(name)} ({printable(job_id)})' if name else printable(job_id)} {done(document)}.")


def _next_fire(job: dict[str, Any]) -> str:
    now, moment = this_moment(), read_moment(job.get("next_fire_time"))
    return "is resumed" + ("" if moment is None else f", next {in_full(moment, now)}")
