"""`onthedot dead-letters` and `redrive`: list executions that failed for good, and run them again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from typing import Any, Final, cast

import click

from onthedot.cli.documents import Documents, JobName, find_job
from onthedot.cli.jobs.executions import print_executions
from onthedot.cli.options import limit_option, on_api, options
from onthedot.cli.output import (
    Cells,
    counted,
    print_document,
    print_next,
    print_rows,
    printable,
    progress,
    word,
)
from onthedot.cli.times import Past, PastTime
from onthedot.client import requests as calls
from onthedot.client.options import DeadLetterOptions
from onthedot.client.requests import Operation

CAUSE_COLUMNS: Final = ("COUNT", "CAUSE", "LATEST", "SUCCEEDED SINCE", "JOBS", "LATEST JOB")
RUN_COLUMNS: Final = ("FIRE TIME", "NAME", "JOB", "EXECUTION", "WHY")
MAX_CAUSES: Final = 100
"""Causes that one call of the API answers."""
AT_ONCE: Final = 50
"""Dead letters of one call by ids, so that the bar moves."""
MAX_SHOWN: Final = 20
"""Runs that people see. A pipe and --json get all."""
NextCall = Callable[..., Operation[Any]]
"""Returns the call for a cursor, or with `dry` the dry run of it."""

letter_options: Final = options(
    click.option("--since", type=Past(), help="Only failures since then: 12h for 12 hours ago, or a time."),
    click.option("--until", type=Past(), help="Only failures before this time."),
    click.option("--name", help="Only jobs whose name starts with this."),
    click.option("--job", type=JobName(), help="Only this job."),
    click.option("--cause", help="Only this cause, as --by cause shows it."),
)


@click.command("dead-letters")
@letter_options
@click.option("--by", type=click.Choice(["cause"]), help="Count executions by cause.")
@limit_option
@on_api
def dead_letters(*, by: str | None, limit: int, api: Documents, as_json: bool, **given: Any) -> None:
    """List executions that failed for good.

    The latest come first. Piped output and --json include the ids of the executions.

    \b
    Examples:
      onthedot dead-letters --since 12h
      onthedot dead-letters --by cause
    """
    filters = _filters(api, given)
    if by is not None:
        _print_causes(api, filters, limit, as_json=as_json)
        return
    letters = pages(api, filters)
    none = "There are no such dead letters."
    shown = print_executions(islice(letters, limit), none, ("STATUS", "LATE", "TOOK"), as_json=as_json)
    if shown and not as_json:
        if next(letters, None) is not None:
            click.echo(f"These are the latest {limit:,}, and there are more: --limit.", err=True)
        print_next("onthedot dead-letters --by cause", "onthedot redrive --since 12h --dry-run")


def _filters(api: Documents, given: Mapping[str, Any]) -> DeadLetterOptions:
    values = {name: value.text if isinstance(value, PastTime) else value for name, value in given.items()}
    if values["job"] is not None:
        values["job"] = find_job(api, values["job"])
    return cast(DeadLetterOptions, {name: value for name, value in values.items() if value is not None})


def pages(api: Documents, filters: DeadLetterOptions) -> Iterator[dict[str, Any]]:
    return api.pages(partial(calls.dead_letters, options=filters), "dead_letters")


def _print_causes(api: Documents, filters: DeadLetterOptions, limit: int, *, as_json: bool) -> None:
    document = api.ask(calls.dead_letter_causes(min(limit, MAX_CAUSES), filters))
    if as_json:
        print_document(document)
        return
    cells = Cells()
    rows = [
        (
            f"{cause['count']:,}",
            str(cause["cause"]),
            cells.time(cause["latest"]),
            f"{cause['successes_since']:,}",
            f"{cause['jobs']:,}",
            str(cause["name"] or cause["job_id"]),
        )
        for cause in document["causes"]
    ]
    print_rows(CAUSE_COLUMNS, rows, "There are no such dead letters.")
    if document["truncated"]:
        click.echo("There are more than were counted. Choose fewer with --since, --name or --job.", err=True)
    if rows:
        print_next(f"onthedot redrive --cause {word(rows[0][1])} --dry-run")


@dataclass
class Outcome:
    """The sum of the answers of all calls of a redrive."""

    redriven: int = 0
    matched: int = 0
    runs: list[dict[str, Any]] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    undecided: list[dict[str, Any]] = field(default_factory=list)

    def add(self, document: dict[str, Any]) -> None:
        self.redriven += document["redriven"]
        self.matched += document.get("matched", 0)
        self.runs += document.get("runs", ())
        self.refused += document["refused"]
        self.undecided += document["undecided"]


@click.command()
@click.argument("execution_ids", metavar="[EXECUTION_ID]...", nargs=-1)
@letter_options
@click.option("--all", "everything", is_flag=True, help="All dead letters.")
@click.option("--dry-run", is_flag=True, help="Show which would run again, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@on_api
def redrive(
    execution_ids: Sequence[str],
    *,
    everything: bool,
    dry_run: bool,
    yes: bool,
    api: Documents,
    as_json: bool,
    **given: Any,
) -> None:
    """Run dead letters again.

    Name executions, choose them with --since, --until, --name, --job and --cause, or give --all. They start at a rate
    of ten per second. With --json, it prints the response to each call. Exit code 1: some will not run again, or you
    answered no.

    \b
    Examples:
      onthedot redrive --since 12h --dry-run
      onthedot redrive --name report --cause "HTTP 503" --yes
    """
    has_filter = any(value is not None for value in given.values())
    if bool(execution_ids) + bool(everything) + has_filter != 1:
        raise click.UsageError("say which: either EXECUTION_ID, or --since, --name, --job, --cause, or --all")
    parts = _parts(execution_ids, _filters(api, given))
    expected = _sum(api, parts, dry=True, as_json=as_json and dry_run)
    if dry_run:
        _show(expected, as_json=as_json)
        return
    if expected.matched and not yes:
        click.confirm(f"Run {counted(expected.matched, 'run')} again?", abort=True, err=True)
    done = _sum(api, parts, expected=expected.matched, as_json=as_json) if expected.matched else expected
    _report(done, as_json=as_json)


def _parts(ids: Sequence[str], filters: DeadLetterOptions) -> list[NextCall]:
    if not ids:
        return [lambda cursor, dry: calls.redrive(None, filters, everything=not filters, dry_run=dry, cursor=cursor)]
    return [_part(ids[first : first + AT_ONCE]) for first in range(0, len(ids), AT_ONCE)]


def _part(ids: Sequence[str]) -> NextCall:
    return lambda _, dry: calls.redrive(ids, dry_run=dry)


def _sum(api: Documents, parts: Sequence[NextCall], *, dry: bool = False, expected: int = 0, as_json: bool) -> Outcome:
    """Return the outcome of all calls. When one that runs something fails, print the outcome of those before it."""
    outcome = Outcome()
    with progress() as bar:
        try:
            for document in chain.from_iterable(api.steps(partial(part, dry=dry)) for part in parts):
                outcome.add(document)
                bar.show(outcome.redriven, max(outcome.redriven, expected) or None)
                if as_json:
                    print_document(document)
        except click.ClickException:
            if not dry:
                so_far = f"{outcome.redriven:,} of {counted(expected, 'run')} start again."
                click.echo(f"{so_far} Run the command again to continue.", err=True)
            raise
    return outcome


def _show(expected: Outcome, *, as_json: bool) -> None:
    if not expected.matched:
        click.echo("There is nothing to run again.", err=True)
    else:
        if not as_json:
            cells = Cells()
            rows = [_row(one, cells) for one in expected.runs[: MAX_SHOWN if cells.for_people else None]]
            print_rows(RUN_COLUMNS, rows, hidden={"JOB", "EXECUTION"})
        click.echo(f"Would run {counted(expected.matched, 'run')} again.", err=True)
    _name_others(expected)


def _row(one: dict[str, Any], cells: Cells) -> tuple[str, ...]:
    name = str(one.get("name") or (one["job_id"] if cells.for_people else "-"))
    why = str(one.get("error") or "-")
    return cells.time(one["fire_time"]), name, str(one["job_id"]), str(one["execution_id"]), why


def _report(outcome: Outcome, *, as_json: bool) -> None:
    """Print the outcome. Raise Exit when an execution does not run again."""
    if not outcome.redriven and not outcome.refused and not outcome.undecided:
        click.echo("There is nothing to run again.", err=True)
        return
    if not as_json:
        click.echo(f"{outcome.redriven:,} {'run starts' if outcome.redriven == 1 else 'runs start'} again.")
    _name_others(outcome)
    if outcome.refused or outcome.undecided:
        raise click.exceptions.Exit(1)
    if not as_json:
        print_next("onthedot dead-letters")


def _name_others(outcome: Outcome) -> None:
    for what, ones in (("does not run again", outcome.refused), ("may run again", outcome.undecided)):
        for one in ones:
            click.echo(f"{printable(one['id'])} {what}: {printable(one['reason'])}", err=True)
