"""`onthedot import`: store the data of an export in another stage, and let it begin there."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents
from onthedot.cli.text import printable
from onthedot.cli.transfer.export_file import ExportFile, read_export
from onthedot.cli.transfer.stage_calls import progress_bar, stage_of, wait_until_settled
from onthedot.cli.where import api_options

PAGE: Final = 200
"""Each blob takes two calls of S3, and the API answers within 28 seconds."""
PAGE_BYTES: Final = 3 * 1024 * 1024 // 2
"""A page has no more, unless one record with its blobs has: 3 MiB at most. Lambda takes 6 MB, with quotes escaped."""
SHOWN: Final = 20


@dataclass(slots=True)
class Result:
    """The numbers of an import so far."""

    created: int = 0
    present: int = 0
    refused: list[dict[str, str]] = field(default_factory=list)
    unknown_pools: set[str] = field(default_factory=set)

    def add(self, page: Any) -> None:
        """Add the answer for one page."""
        self.created += page["created"]
        self.present += page["present"]
        self.refused += page["refused"]
        self.unknown_pools |= set(page["unknown_pools"])


@click.command("import")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--release", is_flag=True, help="Let the stage begin when everything is imported.")
@click.option("--dry-run", is_flag=True, help="Store nothing, and say what would happen.")
@click.option("--without-freeze", is_flag=True, help="Take an export without --freeze: its runs may run twice.")
@click.option("--leave-refused", is_flag=True, help="Release also if some entries were refused.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@api_options
def import_file(
    file: Path,
    *,
    release: bool,
    dry_run: bool,
    without_freeze: bool,
    leave_refused: bool,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Store the data of an export in this stage.

    Nothing of it runs before --release. The command works on the local stack, or on the API of --url, with an admin's
    token. It may be repeated after a failure: entries that are there already stay as they are.

    \b
    Example:
      onthedot import jobs.jsonl --release --url https://jobs.example.com
    """
    export = read_export(file)
    freeze_id = _freeze_of(export, without_freeze=without_freeze)
    calls = Documents(url, token)
    stage = stage_of(calls)
    if stage["released"] == freeze_id and not dry_run:
        _report(Result(), "was imported and released already", released=True, as_json=as_json)
        return
    result = _import(calls, export, freeze_id, dry_run=dry_run)
    released = release and not dry_run and (leave_refused or not result.refused)
    if released:
        calls.post("/v1/import/release", {"freeze_id": freeze_id})
    done = "would be imported" if dry_run else "is imported and released" if released else "is imported"
    _report(result, done, released=released, as_json=as_json)
    if result.refused and not leave_refused:
        left = "; it is not released, see --leave-refused" if release else ""
        raise click.ClickException(f"{len(result.refused):,} entries were refused{left}")


def _freeze_of(export: ExportFile, *, without_freeze: bool) -> str:
    """Return the freeze of an export, or a name for an export without one. Raise click.ClickException."""
    if export.freeze_id is not None:
        return export.freeze_id
    if not without_freeze:
        message = f"{export.path} was exported without --freeze, so the stage that it comes from may still run its jobs"
        raise click.ClickException(
            f"{message}; export it with --freeze, or give --without-freeze if that stage is gone"
        )
    return f"unfrozen_{export.digest[:16]}"


def _import(calls: Documents, export: ExportFile, freeze_id: str, *, dry_run: bool) -> Result:
    result = Result()
    with progress_bar() as bar:
        task = bar.add_task("importing", total=export.total)
        if not dry_run:
            stage = calls.post("/v1/import/begin", {"freeze_id": freeze_id})
            wait_until_settled(calls, stage, lambda text: bar.update(task, description=text))
        for page in export.pages(PAGE, PAGE_BYTES):
            result.add(calls.post("/v1/import", {"freeze_id": freeze_id, "entries": page, "dry_run": dry_run}))
            bar.update(task, advance=len(page), description="importing")
    return result


def _report(result: Result, done: str, *, released: bool, as_json: bool) -> None:
    pools = sorted(result.unknown_pools)
    if as_json:
        whole = {**asdict(result), "unknown_pools": pools, "released": released}
        click.echo(json.dumps(whole, ensure_ascii=False))
        return
    for one in result.refused[:SHOWN]:
        click.echo(f"refused: {printable(one['kind'])} {printable(one['id'])}: {printable(one['why'])}", err=True)
    if pools:
        click.echo(
            f"This stage has no pool {', '.join(map(printable, pools))}; such runs get another, or wait.", err=True
        )
    numbers = f"{result.created:,} created, {result.present:,} there already, {len(result.refused):,} refused"
    click.echo(f"The export {done}: {numbers}.")
    if not released:
        click.echo("Nothing of it runs before `onthedot import FILE --release`.")
