"""`onthedot redrive`: run dead letters again, chosen by id, time or job."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents, print_document
from onthedot.cli.common.progress import progress
from onthedot.cli.jobs.executions import print_executions
from onthedot.cli.limit_text import json_option, print_next
from onthedot.cli.operations.dead_letters import chosen, job_option, since_option
from onthedot.cli.text import printable
from onthedot.cli.where import api_options
from onthedot.client import operations

AT_ONCE: Final = 50
"""Dead letters of one call, so that the progress moves."""
MOST_SHOWN: Final = 20


@dataclass
class Outcome:
    """The sum of the answers of all calls."""

    redriven: int = 0
    refused: list[dict[str, Any]] = field(default_factory=list)
    undecided: list[dict[str, Any]] = field(default_factory=list)

    def add(self, document: dict[str, Any]) -> None:
        """Add the answer of a call."""
        self.redriven += document["redriven"]
        self.refused += document["refused"]
        self.undecided += document["undecided"]


@click.command()
@click.argument("execution_ids", metavar="[EXECUTION_ID]...", nargs=-1)
@since_option
@job_option
@click.option("--all", "everything", is_flag=True, help="All dead letters.")
@click.option("--dry-run", is_flag=True, help="Show which would run again, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@api_options
@json_option
def redrive(
    execution_ids: Sequence[str],
    *,
    since: float | None,
    job_id: str | None,
    everything: bool,
    dry_run: bool,
    yes: bool,
    url: str | None,
    token: str | None,
    as_json: bool,
) -> None:
    """Run dead letters again.

    Name executions, or choose with --since, --job or --all. Ten of them start each second. With --json it prints the
    answer of each call. Exit code 1: some of them do not run again, or you answered no.

    \b
    Examples:
      onthedot redrive --since 12h --dry-run
      onthedot redrive --job job_p4lr2upbz3zjp5vfk4bckgyzhm --yes
    """
    if bool(execution_ids) + bool(everything) + (since is not None or job_id is not None) != 1:
        raise click.UsageError("say which: either EXECUTION_ID, or --since and --job, or --all")
    api = Documents(url, token)
    ids = execution_ids or _choose(api, since, job_id, prints=dry_run, as_json=as_json)
    if dry_run or not ids:
        _end_without_effect(ids, dry_run=dry_run)
        return
    if not yes:
        click.confirm(f"Run {_runs(ids)} again?", abort=True, err=True)
    _report(_run_again(api, ids, as_json=as_json), as_json=as_json)


def _choose(api: Documents, since: float | None, job_id: str | None, *, prints: bool, as_json: bool) -> list[str]:
    """Return the ids of the dead letters. Print all of them as JSON, or the latest as rows."""
    ids: list[str] = []
    latest: list[dict[str, Any]] = []
    for one in chosen(api, since, job_id):
        ids.append(str(one["execution_id"]))
        if len(latest) < MOST_SHOWN:
            latest.append(one)
        if prints and as_json:
            print_document(one)
    if prints and latest and not as_json:
        print_executions(iter(latest), "")
    return ids


def _end_without_effect(ids: Sequence[str], *, dry_run: bool) -> None:
    if not ids:
        click.echo("Nothing runs again.", err=True)
    elif dry_run:
        click.echo(f"Would run {_runs(ids)} again.", err=True)


def _run_again(api: Documents, ids: Sequence[str], *, as_json: bool) -> Outcome:
    """Return the outcome of all calls. When one fails, print the outcome of those before it."""
    outcome = Outcome()
    with progress() as bar:
        for first in range(0, len(ids), AT_ONCE):
            try:
                document = api.ask(operations.redrive(ids[first : first + AT_ONCE]))
            except click.ClickException:
                click.echo(f"{outcome.redriven:,} of {_runs(ids)} start again. Repeat the command to go on.", err=True)
                raise
            outcome.add(document)
            bar.show(min(first + AT_ONCE, len(ids)), len(ids))
            if as_json:
                print_document(document)
    return outcome


def _report(outcome: Outcome, *, as_json: bool) -> None:
    """Print the outcome. Raise Exit when an execution does not run again."""
    if not as_json:
        click.echo(f"{outcome.redriven:,} {'run starts' if outcome.redriven == 1 else 'runs start'} again.")
    for word, ones in (("does not run again", outcome.refused), ("may run again", outcome.undecided)):
        for one in ones:
            click.echo(f"{printable(one['id'])} {word}: {printable(one['reason'])}", err=True)
    if outcome.refused or outcome.undecided:
        raise click.exceptions.Exit(1)
    if not as_json:
        print_next("onthedot dead-letters")


def _runs(ids: Sequence[str]) -> str:
    return "1 run" if len(ids) == 1 else f"{len(ids):,} runs"
