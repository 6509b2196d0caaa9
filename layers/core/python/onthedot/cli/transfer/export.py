"""`onthedot export`: all data of a stage as one file of JSON lines."""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import urlencode

import click

from onthedot.cli.common.documents import Documents
from onthedot.cli.operations.tokens import Lifetime
from onthedot.cli.text import printable
from onthedot.cli.transfer.export_bar import ExportBar
from onthedot.cli.transfer.export_file import ExportWriter
from onthedot.cli.transfer.new_file import new_file
from onthedot.cli.transfer.stage_calls import progress_bar, wait_until_settled
from onthedot.cli.where import api_options
from onthedot.clock import SystemClock
from onthedot.domain.instants import format_instant

STDOUT: Final = Path("-")
STAYS: Final = "The stage stays frozen: run the same command again, or open it with `onthedot thaw`."
SHOWN_RUNS: Final = 5
ASK_AGAIN_SECONDS: Final = 2.0


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--freeze", is_flag=True, help="Stop the stage for good, so that its jobs can move without running twice."
)
@click.option("--history", is_flag=True, help="With ended runs of any age.  [runs of the last two days]")
@click.option("--with-secrets", is_flag=True, help="With the hashes of API tokens, and with signing keys.")
@click.option(
    "--wait", "wait_ms", type=Lifetime(), default="10m", help="Time for running attempts to end, with --freeze.  [10m]"
)
@click.option("--force", is_flag=True, help="Replace FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@api_options
def export(
    file: Path,
    *,
    freeze: bool,
    history: bool,
    with_secrets: bool,
    wait_ms: int,
    force: bool,
    as_json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Write all data of a stage to FILE, as JSON lines.

    It works on the local stack, or on the API of --url, with an admin's token. FILE has the jobs and payloads of all
    tenants. Without --freeze it may be - for stdout.

    \b
    Example:
      onthedot export --freeze --with-secrets jobs.jsonl
    """
    if (is_piped := file == STDOUT) and (freeze or as_json):
        raise click.UsageError(f"give a FILE with {'--freeze' if freeze else '--json'}; - is for an export alone")
    calls = Documents(url, token)
    chosen = {"history": str(history).lower(), "secrets": str(with_secrets).lower()}
    with _opened(file, force=force) as out, progress_bar() as bar:
        try:
            writer = ExportWriter(out, is_on_disk=not is_piped)
            made = _write(calls, writer, chosen, ExportBar(bar), freeze=freeze, wait_ms=wait_ms)
        except click.ClickException as error:
            raise click.ClickException(f"{error.message}\n{STAYS}" if freeze else error.message) from error
    _report(file, made, as_json=as_json)


@contextmanager
def _opened(file: Path, *, force: bool) -> Iterator[BinaryIO]:
    if file == STDOUT:
        yield sys.stdout.buffer
        return
    with new_file(file, force=force) as part, part.open("wb") as out:
        yield out


def _write(
    calls: Documents, writer: ExportWriter, chosen: Mapping[str, str], bar: ExportBar, *, freeze: bool, wait_ms: int
) -> dict[str, Any]:
    """Write the export. With `freeze`, the stage notes that it is whole before the last line is written."""
    unreadable = []
    stage = _frozen(calls, bar, wait_ms) if freeze else calls.get("/v1/stage")
    freeze_id = stage["freeze_id"] if freeze else None
    at = format_instant(SystemClock().now())
    writer.begin(
        {"version": stage["version"], "exported_at": at, "freeze_id": freeze_id, "selection": urlencode(chosen)}
    )
    for page in _pages(calls, **chosen):
        if freeze and page["running"]:
            raise click.ClickException(f"an attempt of {printable(page['running'][0])} runs in a frozen stage")
        unreadable += [{"id": entry["id"], "why": entry["why"]} for entry in page["entries"] if "why" in entry]
        writer.add(page["entries"])
        bar.add(page, writer.counts.total())
    bar.fill()
    if freeze:
        calls.post("/v1/export/finish", {"freeze_id": freeze_id})
    writer.end()
    return {"freeze_id": freeze_id, "counts": dict(writer.counts), "unreadable": unreadable}


def _frozen(calls: Documents, bar: ExportBar, wait_ms: int) -> Any:
    """Freeze the stage, and wait until nothing changes there any more."""
    stage = wait_until_settled(calls, calls.post("/v1/stage/freeze", {}), bar.say)
    until = time.monotonic() + wait_ms / 1000
    while running := [run for page in _pages(calls, only="running") for run in page["running"]]:
        if time.monotonic() >= until:
            named = ", ".join(printable(run) for run in running[:SHOWN_RUNS])
            raise click.ClickException(f"{len(running):,} attempts still run: {named}; wait longer with --wait")
        bar.say(f"waiting for {len(running):,} running attempts")
        time.sleep(ASK_AGAIN_SECONDS)
    return stage


def _pages(calls: Documents, **query: str) -> Iterator[Any]:
    cursor: str | None = None
    while True:
        page = calls.get("/v1/export", **query, cursor=cursor)
        yield page
        cursor = page["next_cursor"]
        if cursor is None:
            return


def _report(file: Path, made: dict[str, Any], *, as_json: bool) -> None:
    for one in made["unreadable"]:
        click.echo(
            f"{printable(one['id'])} cannot be read, and is exported as it is: {printable(one['why'])}", err=True
        )
    if as_json:
        click.echo(json.dumps({"file": str(file), **made}, ensure_ascii=False))
        return
    counts = ", ".join(f"{number:,} {kind}" for kind, number in sorted(made["counts"].items())) or "nothing"
    click.echo(f"{'stdout' if file == STDOUT else file}: {counts}.", err=file == STDOUT)
    if made["freeze_id"] is not None:
        click.echo("The stage is frozen. Import the file elsewhere, then release it: onthedot import FILE --release")
