"""`onthedot redrive`: run dead letters again, chosen by id or by filters."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents, print_document
from onthedot.cli.common.moments import cell, this_moment
from onthedot.cli.common.progress import progress
from onthedot.cli.limit_text import is_for_people, json_option, print_next, print_rows
from onthedot.cli.operations.dead_letters import filter_options, filters_of
from onthedot.cli.text import printable
from onthedot.cli.where import api_options
from onthedot.client import requests as calls
from onthedot.client.options import DeadLetterOptions
from onthedot.client.requests import Operation

AT_ONCE: Final = 50
"""Dead letters of one call by ids, so that the progress moves."""
MOST_NAMED: Final = 3
"""Runs that a sentence names."""
COLUMNS: Final = ("FIRE TIME", "NAME", "JOB", "EXECUTION", "WHY")
NextCall = Callable[[str | None, bool], Operation[Any]]
"""Returns the call for a cursor. True: the dry run of it."""


@dataclass
class Outcome:
    """The sum of the answers of all calls."""

    redriven: int = 0
    matched: int = 0
    runs: list[dict[str, Any]] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    undecided: list[dict[str, Any]] = field(default_factory=list)

    def add(self, document: dict[str, Any]) -> None:
        """Add the answer of a call."""
        self.redriven += document["redriven"]
        self.matched += document.get("matched", 0)
        self.runs += document.get("runs", ())
        self.refused += document["refused"]
        self.undecided += document["undecided"]


@click.command()
@click.argument("execution_ids", metavar="[EXECUTION_ID]...", nargs=-1)
@filter_options
@click.option("--all", "everything", is_flag=True, help="All dead letters.")
@click.option("--dry-run", is_flag=True, help="Show which would run again, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@api_options
@json_option
def redrive(
    execution_ids: Sequence[str],
    *,
    everything: bool,
    dry_run: bool,
    yes: bool,
    url: str | None,
    token: str | None,
    as_json: bool,
    **chosen_by: str | None,
) -> None:
    """Run dead letters again.

    Name executions, or choose with --since, --until, --name, --job and --cause, or --all. Ten of them start each
    second. With --json it prints the answer of each call. Exit code 1: some do not run again, or you answered no.

    \b
    Examples:
      onthedot redrive --since 12h --dry-run
      onthedot redrive --name report --cause "HTTP 503" --yes
    """
    has_filter = any(value is not None for value in chosen_by.values())
    if bool(execution_ids) + bool(everything) + has_filter != 1:
        raise click.UsageError("say which: either EXECUTION_ID, or --since, --name, --job, --cause, or --all")
    api, filters = Documents(url, token), filters_of(chosen_by, url, token)
    parts = _parts(execution_ids, filters)
    expected = _count(api, parts, as_json=as_json and dry_run)
    if dry_run:
        _show(expected, as_json=as_json)
        return
    if expected.matched and not yes:
        click.confirm(f"Run {_runs(expected.matched)} again?", abort=True, err=True)
    done = _run_again(api, parts, expected, as_json=as_json) if expected.matched else expected
    _report(done, as_json=as_json)


def _parts(ids: Sequence[str], filters: DeadLetterOptions) -> list[NextCall]:
    """Return the parts of the work, each of which takes one call for each of its cursors."""
    if not ids:
        return [lambda cursor, dry: calls.redrive(None, filters, everything=not filters, dry_run=dry, cursor=cursor)]
    return [_part(ids[first : first + AT_ONCE]) for first in range(0, len(ids), AT_ONCE)]


def _part(ids: Sequence[str]) -> NextCall:
    return lambda _, dry: calls.redrive(ids, dry_run=dry)


def _answers(api: Documents, parts: Sequence[NextCall], *, dry: bool) -> Iterator[dict[str, Any]]:
    for part in parts:
        cursor: str | None = None
        while True:
            document: dict[str, Any] = api.ask(part(cursor, dry))
            yield document
            cursor = document.get("next_cursor")
            if cursor is None:
                break


def _count(api: Documents, parts: Sequence[NextCall], *, as_json: bool) -> Outcome:
    """Return what would run again."""
    outcome = Outcome()
    for document in _answers(api, parts, dry=True):
        outcome.add(document)
        if as_json:
            print_document(document)
    return outcome


def _run_again(api: Documents, parts: Sequence[NextCall], expected: Outcome, *, as_json: bool) -> Outcome:
    """Return the outcome of all calls. When one fails, print the outcome of those before it."""
    outcome = Outcome()
    with progress() as bar:
        try:
            for document in _answers(api, parts, dry=False):
                outcome.add(document)
                bar.show(outcome.redriven, max(outcome.redriven, expected.matched))
                if as_json:
                    print_document(document)
        except click.ClickException:
            of_all = _runs(expected.matched)
            click.echo(f"{outcome.redriven:,} of {of_all} start again. Repeat the command to go on.", err=True)
            raise
    return outcome


def _show(expected: Outcome, *, as_json: bool) -> None:
    """Print what would run again: a sentence for people, rows for a pipe."""
    if not expected.matched:
        click.echo("Nothing would run again.", err=True)
    elif not as_json and is_for_people():
        click.echo(f"Would run {_runs(expected.matched)} again: {_named(expected)}.")
    elif not as_json:
        print_rows(COLUMNS, [_row(one) for one in expected.runs], "")
    if expected.matched and (as_json or not is_for_people()):
        click.echo(f"Would run {_runs(expected.matched)} again.", err=True)
    _name_others(expected)


def _named(expected: Outcome) -> str:
    now = this_moment()
    named = [
        f"{printable(str(one.get('name') or one['job_id']))} {_clock(one, now)}"
        f" ({printable(str(one.get('cause') or one.get('error') or 'failed'))})"
        for one in expected.runs[:MOST_NAMED]
    ]
    more = expected.matched - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")


def _clock(one: dict[str, Any], now: datetime) -> str:
    return cell(one.get("fire_time"), now, for_people=True).removeprefix("today ")


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    why = str(one.get("error") or "-")
    return (str(one["fire_time"]), str(one.get("name") or "-"), str(one["job_id"]), str(one["execution_id"]), why)


def _report(outcome: Outcome, *, as_json: bool) -> None:
    """Print the outcome. Raise Exit when an execution does not run again."""
    if not outcome.redriven and not outcome.refused and not outcome.undecided:
        click.echo("Nothing runs again.", err=True)
        return
    if not as_json:
        click.echo(f"{outcome.redriven:,} {'run starts' if outcome.redriven == 1 else 'runs start'} again.")
    _name_others(outcome)
    if outcome.refused or outcome.undecided:
        raise click.exceptions.Exit(1)
    if not as_json:
        print_next("onthedot dead-letters")


def _name_others(outcome: Outcome) -> None:
    for word, ones in (("does not run again", outcome.refused), ("may run again", outcome.undecided)):
        for one in ones:
            click.echo(f"{printable(one['id'])} {word}: {printable(one['reason'])}", err=True)


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count:,} runs"
