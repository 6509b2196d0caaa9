"""`onthedot up`, `down` and `reset`: the commands for the local AWS of a clone."""

import os
from pathlib import Path
from typing import NoReturn

import click

from onthedot.cli.clone import become, find_root
from onthedot.cli.common.result import result_option


@click.command()
@result_option
def up(as_json: bool) -> None:
    """Start the local AWS and deploy the stacks to it.

    It prints the URL of the API and a token. ONTHEDOT_PORT, ONTHEDOT_HOME and ONTHEDOT_SHARDS choose the port, the
    folder of the data and the number of shards.

    \b
    Example:
      ONTHEDOT_PORT=4600 onthedot up
    """
    _run_local("up", as_json=as_json)


@click.command()
@result_option
def down(as_json: bool) -> None:
    """Stop the local AWS and keep its data.

    \b
    Example:
      onthedot down
    """
    _run_local("down", as_json=as_json)


@click.command()
@result_option
def reset(as_json: bool) -> None:
    """Stop the local AWS and delete its data.

    \b
    Example:
      onthedot reset
    """
    _run_local("reset", as_json=as_json)


def _run_local(command: str, *, as_json: bool) -> NoReturn:
    root = find_root(Path.cwd())
    # A relative path counts from the current directory, and `become` changes that to the clone.
    if home := os.environ.get("ONTHEDOT_HOME"):
        os.environ["ONTHEDOT_HOME"] = str(Path(home).expanduser().absolute())
    become(root, ".venv/bin/python", "-m", "localstack.local", command, *(["--json"] if as_json else []))
