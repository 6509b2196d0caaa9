"""`onthedot export`, `import`, `thaw` and `backup`: move all data of a stage to another one, or copy it."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import urlencode

import click

from onthedot.cli.documents import Calls, Documents, get_call
from onthedot.cli.operations.export_file import ExportFile, ExportWriter, new_file, read_export
from onthedot.cli.operations.tokens import Lifetime
from onthedot.cli.options import with_api
from onthedot.cli.output import Bar, counted, document_option, print_document, printable, progress
from onthedot.client.place import homes
from onthedot.core.clock import SystemClock, format_instant
from onthedot.core.errors import OnthedotError

STDOUT: Final = Path("-")
STAYS: Final = "The stage stays frozen: run the same command again, or open it with `onthedot thaw`."
MAX_RUNS_SHOWN: Final = 5
MAX_REFUSED_SHOWN: Final = 20
ASK_AGAIN_SECONDS: Final = 2.0
MAX_WAIT_SECONDS: Final = 1.0
PAGE: Final = 200
"""Entries of one call of an import. Each blob takes two calls of S3, and the API answers within 28 seconds."""
PAGE_BYTES: Final = 3 * 1024 * 1024 // 2
"""A page has no more, unless one record with its blobs has: 3 MiB at most. Lambda takes 6 MB, with quotes escaped."""
_FILE: Final = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("file", type=_FILE)
@click.option(
    "--freeze", is_flag=True, help="Stop the stage for good, so that its jobs can move without running twice."
)
@click.option("--history", is_flag=True, help="Include ended runs of any age.  [default: those of the last two days]")
@click.option("--with-secrets", is_flag=True, help="Include the hashes of API tokens, and signing keys.")
@click.option(
    "--wait",
    "wait_ms",
    type=Lifetime(),
    default="10m",
    help="With --freeze: how long to wait for running attempts.  [default: 10m]",
)
@click.option("--force", is_flag=True, help="Replace FILE.")
@document_option
@with_api
def export(
    file: Path,
    *,
    freeze: bool,
    history: bool,
    with_secrets: bool,
    wait_ms: int,
    force: bool,
    as_json: bool,
    api: Documents,
) -> None:
    """Write all data of a stage to FILE, as JSON lines.

    It works on the local stack, or on the API at --url, and needs an admin's token. FILE contains the jobs and payloads
    of all tenants. Without --freeze, FILE may be - for stdout.

    \b
    Example:
      onthedot export --freeze --with-secrets jobs.jsonl
    """
    if (is_piped := file == STDOUT) and (freeze or as_json):
        raise click.UsageError(f"{'--freeze' if freeze else '--json'} needs a FILE; - is for an export alone")
    chosen = {"history": str(history).lower(), "secrets": str(with_secrets).lower()}
    with _opened(file, force=force) as out, progress("exporting") as bar:
        try:
            writer = ExportWriter(out, is_on_disk=not is_piped)
            made = _write(api, writer, chosen, bar, freeze=freeze, wait_ms=wait_ms)
        except click.ClickException as error:
            raise click.ClickException(f"{error.message}\n{STAYS}" if freeze else error.message) from error
    for one in made["unreadable"]:
        click.echo(f"{printable(one['id'])} cannot be read, and is exported as is: {printable(one['why'])}", err=True)
    if as_json:
        print_document({"file": str(file), **made})
        return
    counts = ", ".join(f"{number:,} {kind}" for kind, number in sorted(made["counts"].items())) or "nothing"
    click.echo(f"{'stdout' if is_piped else file}: {counts}.", err=is_piped)
    if freeze:
        click.echo("The stage is frozen. Import the file elsewhere, then release it: onthedot import FILE --release")


@contextmanager
def _opened(file: Path, *, force: bool) -> Iterator[BinaryIO]:
    if file == STDOUT:
        yield sys.stdout.buffer
        return
    with new_file(file, force=force) as part, part.open("wb") as out:
        yield out


def _write(
    calls: Calls, writer: ExportWriter, chosen: Mapping[str, str], bar: Bar, *, freeze: bool, wait_ms: int
) -> dict[str, Any]:
    """Write the export. With `freeze`, the stage notes that it is whole before the last line is written."""
    unreadable, read, total = [], 0, 0
    stage = _frozen(calls, bar, wait_ms) if freeze else calls.get("/v1/stage")
    freeze_id = stage["freeze_id"] if freeze else None
    at = format_instant(SystemClock().now())
    writer.begin(
        {"version": stage["version"], "exported_at": at, "freeze_id": freeze_id, "selection": urlencode(chosen)}
    )
    for page in _pages(calls, **chosen):
        if freeze and page["running"]:
            raise click.ClickException(f"attempt {printable(page['running'][0])} is running in a frozen stage")
        unreadable += [{"id": entry["id"], "why": entry["why"]} for entry in page["entries"] if "why" in entry]
        writer.add(page["entries"])
        read, total = read + page["read"], page["about_total"] or total
        bar.show(read, max(total, read) if total else None, f"{writer.counts.total():,} entries")
    if freeze:
        calls.post("/v1/export/finish", {"freeze_id": freeze_id})
    writer.end()
    return {"freeze_id": freeze_id, "counts": dict(writer.counts), "unreadable": unreadable}


def _frozen(calls: Calls, bar: Bar, wait_ms: int) -> Any:
    """Freeze the stage, and wait until nothing changes there."""
    stage = _settled(calls, calls.post("/v1/stage/freeze", {}), bar.say)
    until = time.monotonic() + wait_ms / 1000
    while running := [run for page in _pages(calls, only="running") for run in page["running"]]:
        if time.monotonic() >= until:
            named = ", ".join(printable(run) for run in running[:MAX_RUNS_SHOWN])
            raise click.ClickException(
                f"still running: {counted(len(running), 'attempt')} ({named}); wait longer with --wait"
            )
        bar.say(f"waiting for {counted(len(running), 'running attempt')}")
        time.sleep(ASK_AGAIN_SECONDS)
    return stage


def _settled(calls: Calls, stage: Any, show: Callable[[str], None]) -> Any:
    """Wait until all parts of the stage follow its state, and return it. Raise click.ClickException if it changed."""
    first = stage
    while (left := stage["settles_in_ms"]) > 0:
        show(f"the stage is {stage['mode']}; waiting {left / 1000:.0f} s until all its parts know")
        time.sleep(min(left / 1000, MAX_WAIT_SECONDS))
        stage = calls.get("/v1/stage")
        if (stage["mode"], stage["freeze_id"]) != (first["mode"], first["freeze_id"]):
            raise click.ClickException(f"the stage is {printable(stage['mode'])} now; another command changed it")
    return stage


def _pages(calls: Calls, **query: str) -> Iterator[Any]:
    return calls.steps(lambda cursor: get_call("/v1/export", {**query, "cursor": cursor}))


@dataclass(slots=True)
class _Imported:
    created: int = 0
    present: int = 0
    refused: list[dict[str, str]] = field(default_factory=list)
    unknown_pools: list[str] = field(default_factory=list)

    def add(self, page: Any) -> None:
        self.created += page["created"]
        self.present += page["present"]
        self.refused += page["refused"]
        self.unknown_pools = sorted({*self.unknown_pools, *page["unknown_pools"]})


@click.command("import")
@click.argument("file", type=_FILE)
@click.option("--release", is_flag=True, help="Start the stage once everything is imported.")
@click.option("--dry-run", is_flag=True, help="Store nothing, and say what would happen.")
@click.option("--without-freeze", is_flag=True, help="Accept an export made without --freeze: its runs may run twice.")
@click.option("--leave-refused", is_flag=True, help="Release even if some entries were refused.")
@document_option
@with_api
def import_file(
    file: Path,
    *,
    release: bool,
    dry_run: bool,
    without_freeze: bool,
    leave_refused: bool,
    as_json: bool,
    api: Documents,
) -> None:
    """Import the data of an export into this stage.

    Nothing runs until you release it with --release. The command works on the local stack, or on the API at --url, and
    needs an admin's token. If it fails, run it again: entries that are already there stay as they are.

    \b
    Example:
      onthedot import jobs.jsonl --release --url https://jobs.example.com
    """
    export = read_export(file)
    freeze_id = _freeze_of(export, without_freeze=without_freeze)
    if api.get("/v1/stage")["released"] == freeze_id and not dry_run:
        _report(_Imported(), "was already imported and released", released=True, as_json=as_json)
        return
    result = _import(api, export, freeze_id, dry_run=dry_run)
    released = release and not dry_run and (leave_refused or not result.refused)
    if released:
        api.post("/v1/import/release", {"freeze_id": freeze_id})
    done = "would be imported" if dry_run else "is imported and released" if released else "is imported"
    _report(result, done, released=released, as_json=as_json)
    if result.refused and not leave_refused:
        left = "; it is not released, see --leave-refused" if release else ""
        raise click.ClickException(f"refused: {len(result.refused):,} of {export.total:,} entries{left}")


def _freeze_of(export: ExportFile, *, without_freeze: bool) -> str:
    """Return the freeze of an export, or a name for an export without one."""
    if export.freeze_id is not None:
        return export.freeze_id
    if not without_freeze:
        raise click.ClickException(
            f"{export.path} was exported without --freeze, so the stage that it comes from may still run its jobs; "
            "export it with --freeze, or give --without-freeze if that stage is gone"
        )
    return f"unfrozen_{export.digest[:16]}"


def _import(calls: Calls, export: ExportFile, freeze_id: str, *, dry_run: bool) -> _Imported:
    result, done = _Imported(), 0
    with progress("importing") as bar:
        if not dry_run:
            _settled(calls, calls.post("/v1/import/begin", {"freeze_id": freeze_id}), bar.say)
        for page in export.pages(PAGE, PAGE_BYTES):
            result.add(calls.post("/v1/import", {"freeze_id": freeze_id, "entries": page, "dry_run": dry_run}))
            done += len(page)
            bar.show(done, export.total, "importing")
    return result


def _report(result: _Imported, done: str, *, released: bool, as_json: bool) -> None:
    if as_json:
        print_document({**asdict(result), "released": released})
        return
    for one in result.refused[:MAX_REFUSED_SHOWN]:
        click.echo(f"refused: {printable(one['kind'])} {printable(one['id'])}: {printable(one['why'])}", err=True)
    if result.unknown_pools:
        pools = ", ".join(map(printable, result.unknown_pools))
        click.echo(f"This stage has no pool {pools}; its runs get another pool, or wait.", err=True)
    numbers = f"{result.created:,} created, {result.present:,} already there, {len(result.refused):,} refused"
    click.echo(f"The export {done}: {numbers}.")
    if not released:
        click.echo("Nothing runs before `onthedot import FILE --release`.")


@click.command()
@click.option("--force", is_flag=True, help="Thaw even after an export, if no other stage has released it.")
@document_option
@with_api
def thaw(force: bool, as_json: bool, api: Documents) -> None:
    """Reopen a frozen stage.

    Its jobs continue where they stopped.

    \b
    Example:
      onthedot thaw
    """
    stage = api.post("/v1/stage/thaw", {"force": force})
    if as_json:
        print_document(stage)
    else:
        click.echo("The stage is open.")


@click.command()
@click.argument("file", type=_FILE)
@click.option(
    "--data", type=_FILE, help="The data file.  [default: serve/onthedot.db in ONTHEDOT_HOME, or in .onthedot]"
)
@click.option("--force", is_flag=True, help="Replace FILE.")
@document_option
def backup(file: Path, data: Path | None, force: bool, as_json: bool) -> None:
    """Copy the data of `onthedot serve` to FILE, even while it runs.

    The copy is verified. To restore it, start `onthedot serve` with it as the data file. It contains payloads, hashes
    of API tokens, and signing keys.

    \b
    Example:
      onthedot backup onthedot-monday.db
    """
    from onthedot.wiring.sqlite_copy import copy_database  # noqa: PLC0415 - loads the engine

    source = data or _data_file()
    if file.exists() and source.exists() and file.samefile(source):
        raise click.ClickException(f"{file} is the data file itself; give another name")
    try:
        with new_file(file, force=force) as part:
            copied = copy_database(source, part)
    except OnthedotError as error:
        raise click.ClickException(str(error)) from error
    if as_json:
        print_document({"file": str(file), "bytes": copied.size, "records": copied.records})
    else:
        click.echo(f"{file}: {copied.records:,} jobs and runs, {copied.size:,} bytes.")


def _data_file() -> Path:
    files = [home / "serve" / "onthedot.db" for home in homes()]
    return next((one for one in files if one.is_file()), files[0])
