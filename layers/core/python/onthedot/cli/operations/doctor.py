"""`onthedot doctor`: check a stack from this machine."""

import os
from collections.abc import Iterable
from dataclasses import asdict
from typing import Final

import click

from onthedot.cli.common.documents import Documents, print_document
from onthedot.cli.operations.checkup import Finding, findings, no_stack
from onthedot.cli.where import api_options
from onthedot.client.place import URL

MARKS: Final = {"ok": ("✓", "green"), "notice": ("!", "yellow"), "wrong": ("✗", "red")}


@click.command()
@api_options
@click.option("--json", "as_json", is_flag=True, help="Print the findings as one document.")
def doctor(url: str | None, token: str | None, as_json: bool) -> None:
    """Check the API, the ticks, the clock, queues, failures, workers.

    Exit code 1: something is wrong (✗). A notice (!) alone is worth a look and gives 0.

    \b
    Example:
      onthedot doctor
    """
    address, checks = _checks(url, token)
    found = []
    for finding in checks:
        found.append(finding)
        if not as_json:
            _print(finding)
    is_well = all(finding.state != "wrong" for finding in found)
    if as_json:
        print_document({"ok": is_well, "url": address, "findings": [asdict(finding) for finding in found]})
    if not is_well:
        raise click.exceptions.Exit(1)


def _checks(url: str | None, token: str | None) -> tuple[str | None, Iterable[Finding]]:
    """Return the URL of the API and the findings about it. On a machine without any, this is the finding."""
    try:
        api = Documents(url, token)
    except click.UsageError as error:
        if url is not None or os.environ.get(URL):
            raise
        return None, [no_stack(error)]
    return api.place.url, findings(api)


def _print(finding: Finding) -> None:
    mark, colour = MARKS[finding.state]
    click.echo(f"{click.style(mark, fg=colour)} {finding.message}")
    if finding.advice:
        click.secho(f"  {finding.advice}", dim=True, err=True)
