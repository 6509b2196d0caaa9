"""`onthedot thaw`: open a frozen stage again."""

import json

import click

from onthedot.cli.common.documents import Documents
from onthedot.cli.where import api_options


@click.command()
@click.option("--force", is_flag=True, help="Also after an export, if no other stage has released it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@api_options
def thaw(force: bool, as_json: bool, url: str | None, token: str | None) -> None:
    """Open a frozen stage again.

    Its jobs go on where they stopped.

    \b
    Example:
      onthedot thaw
    """
    stage = Documents(url, token).post("/v1/stage/thaw", {"force": force})
    click.echo(json.dumps(stage) if as_json else "The stage is open.")
