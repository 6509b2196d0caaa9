"""Acts on many jobs, which filters choose: what the API would change, the question, and one step after the other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import click

from onthedot.cli.common.documents import Documents, print_document
from onthedot.cli.common.progress import progress
from onthedot.cli.limit_text import print_rows
from onthedot.cli.text import printable
from onthedot.client.options import JobFilter
from onthedot.client.requests import bulk, list_jobs

MOST_COUNTED: Final = 10_000
"""Jobs that are counted before the question. A larger number says nothing more."""
MOST_SHOWN: Final = 20
LEAST_PAGES: Final = 500
"""Steps that a count makes at most. A step may find no job and have a next one."""


class Act(NamedTuple):
    """An act on jobs, and its words."""

    name: str
    done: str
    """The words after the jobs, such as "are paused"."""

    def sentence(self, count: int) -> str:
        """Return what happened to so many jobs."""
        words = self.done.replace("are ", "is ", 1).replace("run ", "runs ", 1) if count == 1 else self.done
        return f"{_jobs(count)} {words}"


@dataclass
class Result:
    """The sum of the answers of all steps."""

    done: int = 0
    failures: list[Mapping[str, Any]] = field(default_factory=list)


def act_on_many(api: Documents, act: Act, filters: JobFilter, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Act on all jobs that pass the filters, after a question. Raise click.UsageError without a filter.

    Raise Exit with 1 when the act failed for a job.
    """
    if not filters:
        raise click.UsageError("--all needs a filter, such as --name, --tag or --kind")
    if dry_run and as_json:
        for document in _steps(api, act, filters, dry_run=True):
            print_document(document)
        return
    found, is_all = _count(api, act, filters)
    if dry_run or not found:
        _show(api, act, filters, found, is_all=is_all)
        return
    if not yes:
        click.confirm(f"{act.name.capitalize()} {_jobs(found, is_all)}?", abort=True, err=True)
    _report(act, _apply(api, act, filters, found, as_json=as_json), as_json=as_json)


def _steps(api: Documents, act: Act, filters: JobFilter, *, dry_run: bool) -> Iterator[dict[str, Any]]:
    cursor: str | None = None
    while True:
        document = api.ask(bulk(act.name, filters, dry_run=dry_run, cursor=cursor))
        yield document
        cursor = document.get("next_cursor")
        if cursor is None:
            return


def _count(api: Documents, act: Act, filters: JobFilter) -> tuple[int, bool]:
    """Return how many jobs pass, and whether these are all."""
    found = 0
    for number, document in enumerate(_steps(api, act, filters, dry_run=True), 1):
        found += document["matched"]
        if document["next_cursor"] is not None and (found >= MOST_COUNTED or number >= LEAST_PAGES):
            return found, False
    return found, True


def _show(api: Documents, act: Act, filters: JobFilter, found: int, *, is_all: bool) -> None:
    """Print the first jobs, and how many there are."""
    if not found:
        click.echo("No job passes these filters.", err=True)
        return
    first = _first(api, filters)
    print_rows(("JOB", "NAME", "STATUS"), [(job["job_id"], job["name"] or "-", job["status"]) for job in first], "")
    more = f"… and {found - len(first):,} more\n" if found > len(first) else ""
    click.echo(f"{more}Would {act.name} {_jobs(found, is_all)}.", err=True)


def _first(api: Documents, filters: JobFilter) -> Sequence[dict[str, Any]]:
    jobs: list[dict[str, Any]] = []
    cursor: str | None = None
    while len(jobs) < MOST_SHOWN:
        document = api.ask(list_jobs(filters, cursor, MOST_SHOWN))
        jobs += document["jobs"]
        cursor = document.get("next_cursor")
        if cursor is None:
            break
    return jobs[:MOST_SHOWN]


def _apply(api: Documents, act: Act, filters: JobFilter, found: int, *, as_json: bool) -> Result:
    """Return the sum of all steps. When a step fails, print how far those before it came."""
    result = Result()
    with progress() as bar:
        try:
            for document in _steps(api, act, filters, dry_run=False):
                result.done += document["done"]
                result.failures += document["failures"]
                handled = result.done + len(result.failures)
                bar.show(handled, max(found, handled))
                if as_json:
                    print_document(document)
        except click.ClickException:
            click.echo(f"{act.sentence(result.done)} so far. Repeat the command to go on.", err=True)
            raise
    return result


def _report(act: Act, result: Result, *, as_json: bool) -> None:
    if not as_json:
        click.echo(f"{act.sentence(result.done)}.")
    for one in result.failures[:MOST_SHOWN]:
        click.echo(f"{printable(one['id'])}: {printable(one['message'])}", err=True)
    if len(result.failures) > MOST_SHOWN:
        click.echo(f"… and {len(result.failures) - MOST_SHOWN:,} more failures", err=True)
    if result.failures:
        raise click.exceptions.Exit(1)


def _jobs(count: int, is_all: bool = True) -> str:
    return "1 job" if count == 1 and is_all else f"{'' if is_all else 'more than '}{count:,} jobs"
