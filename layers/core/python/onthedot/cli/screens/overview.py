"""`onthedot overview`: the state of a stage on one screen."""

import shutil
from collections.abc import Sequence

import click

from onthedot.cli.common.documents import Documents, print_document
from onthedot.cli.common.moments import this_moment
from onthedot.cli.limit_text import is_for_people, json_option, print_next
from onthedot.cli.screens.frame import lines_of
from onthedot.cli.screens.sections import Section, sections_of
from onthedot.cli.where import api_options
from onthedot.client import requests


@click.command()
@api_options
@json_option
def overview(url: str | None, token: str | None, as_json: bool) -> None:
    """Show the state of the stage, its queues, workers and failures.

    A pipe gets a line for each fact, with tabs.

    \b
    Example:
      onthedot overview
    """
    document = Documents(url, token).ask(requests.overview())
    if as_json:
        print_document(document)
        return
    print_sections(sections_of(document, this_moment()))
    if document.get("failures"):
        print_next("onthedot dead-letters", "onthedot list --status failed --since 1h")


def print_sections(sections: Sequence[Section]) -> None:
    """Print sections: for people as a screen, for a pipe one row on a line."""
    if is_for_people():
        for line in lines_of(sections, shutil.get_terminal_size().columns):
            click.secho(line.text, fg=line.colour, bold=line.bold)
        return
    for section in sections:
        for row in section.rows:
            click.echo("\t".join((section.title.lower() or "summary", *row.cells)))
