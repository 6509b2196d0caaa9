"""`onthedot doctor`: check a stack from this machine."""

from dataclasses import asdict
from typing import Final

import click

from onthedot.cli.common.documents import Documents, print_document
from onthedot.cli.operations.checkup import Finding, findings
from onthedot.cli.where import api_options

MARKS: Final = {"ok": ("✓", "green"), "notice": ("!", "yellow"), "wrong": ("✗", "red")}


@click.command()
@api_options
@click.option("--json", "as_json", is_flag=True, help="Print the findings as one document.")
def doctor(url: str | None, token: str | None, as_json: bool) -> None:
    """Check the API, the ticks, the clock, dead letters and workers.

    Exit code 1: something is wrong (✗). A notice (!) alone is worth a look and gives 0.

    \b
    Example:
      onthedot doctor
    """
    api = Documents(url, token)
    found = []
    for finding in findings(api):
        found.append(finding)
        if not as_json:
            _print(finding)
    is_well = all(finding.state != "wrong" for finding in found)
    if as_json:
        print_document({"ok": is_well, "url": api.place.url, "findings": [asdict(finding) for finding in found]})
    if not is_well:
        raise click.exceptions.Exit(1)


def _print(finding: Finding) -> None:
    mark, colour = MARKS[finding.state]
    click.echo(f"{click.style(mark, fg=colour)} {finding.message}")
    if finding.advice:
        click.secho(f"  {finding.advice}", dim=True, err=True)
