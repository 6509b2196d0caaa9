"""`onthedot backup`: a consistent copy of the data of `onthedot serve`, also while it runs."""

import json
import os
from pathlib import Path

import click

from onthedot.cli.transfer.new_file import new_file
from onthedot.domain.errors import OnthedotError


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--data",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The data file.  [default: serve/onthedot.db in ONTHEDOT_HOME, or in .onthedot]",
)
@click.option("--force", is_flag=True, help="Replace FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def backup(file: Path, data: Path | None, force: bool, as_json: bool) -> None:
    """Copy the data of `onthedot serve` to FILE, while it runs or not.

    The copy is checked. To restore it, start `onthedot serve` with it as the data file. It has payloads, hashes of API
    tokens and signing keys.

    \b
    Example:
      onthedot backup onthedot-monday.db
    """
    from onthedot.wiring.sqlite_backup import copy_database  # noqa: PLC0415 - loads the engine

    source = data or _data_file()
    if file.exists() and source.exists() and file.samefile(source):
        raise click.ClickException(f"{file} is the data file itself; give another name")
    try:
        with new_file(file, force=force) as part:
            copied = copy_database(source, part)
    except OnthedotError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps({"file": str(file), "bytes": copied.size, "records": copied.records}))
    else:
        click.echo(f"{file}: {copied.records:,} jobs and runs, {copied.size:,} bytes.")


def _data_file() -> Path:
    """Return the data file of the server that commands in this folder use."""
    chosen = os.environ.get("ONTHEDOT_HOME")
    here = Path.cwd()
    homes = [Path(chosen).expanduser()] if chosen else [at / ".onthedot" for at in (here, *here.parents)]
    files = [home / "serve" / "onthedot.db" for home in homes]
    return next((one for one in files if one.is_file()), files[0])
