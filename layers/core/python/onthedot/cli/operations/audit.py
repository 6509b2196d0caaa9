"""`onthedot audit`: check that every recent fire time of recurring jobs has one recorded outcome.

It reads the table of a stage, or a copy of the file of `onthedot serve`.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from onthedot.cli.credentials import aws_errors_in_a_sentence, engine_on_table, find_table, table_options
from onthedot.cli.documents import local_stack
from onthedot.cli.output import print_document, print_rows, printable
from onthedot.core import set_aside
from onthedot.core.clock import format_instant
from onthedot.core.errors import OnthedotError, Unreadable
from onthedot.core.ports import Deadline
from onthedot.core.records import Kind, Record
from onthedot.engine import Engine
from onthedot.jobs.audit import Finding, Report, audit_due_jobs, audit_recent
from onthedot.statistics.health import late_ticks

PATIENCE_MS: Final = 600_000
MAX_ROWS: Final = 50
MAX_TIMES: Final = 10
HOLES_FOUND: Final = 1
NOT_WHOLE: Final = 2
COLUMNS: Final = ("JOB", "STATUS", "TIMES", "ACCOUNTED", "LATE", "HOLES")


class NotAudited(click.ClickException):
    """The audit could not be made. It says nothing about the jobs."""

    exit_code = NOT_WHOLE


@dataclass(slots=True)
class Audited:
    jobs: list[tuple[Record, Report]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    ticks_late: str | None = None
    """A sentence, when the scheduler itself is late."""
    unreadable: list[Unreadable] = field(default_factory=list)
    """The records that cannot be read, or that dispatchers have set aside."""

    def add(self, job: Record, report: Report) -> None:
        self.jobs.append((job, report))

    @property
    def left_out(self) -> dict[str, int]:
        """The number of fire times or jobs that could not be read, by cause."""
        return {why: self.counts[why] for why in ("unread", "out_of_time", "unavailable") if self.counts[why]}


@click.command()
@click.argument("job_id", required=False)
@table_options
@click.option(
    "--data",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A data file of `onthedot serve`, or a backup of one.  [default: the local server's]",
)
@click.option("--take-up", is_flag=True, help="Put set-aside records that are readable again back into their slots.")
@click.option("--json", "as_json", is_flag=True, help="Print every audited job as one JSON document.")
def audit(job_id: str | None, *, data: Path | None, take_up: bool, as_json: bool, **where: str | None) -> None:
    """Check that every recent fire time has one recorded outcome.

    It audits the recurring job JOB_ID, or all recurring jobs that fire within the hour. It also names the records that
    cannot be read, and says when ticks are late. For `onthedot serve` it audits a copy of the data while the server
    keeps running. Exit code 1: it found holes (fire times without an outcome) or unreadable records, or ticks are late.
    Exit code 2: not everything could be audited.

    \b
    Examples:
      onthedot audit
      onthedot audit --table onthedot-prod-jobs --region eu-central-1
    """
    if data is not None and any(where.values()):
        raise click.UsageError("give either --data or --table")
    file = data if data is not None or any(where.values()) else _served_file()
    if file is not None and take_up:
        raise click.UsageError("--take-up is for a table; `onthedot serve` does it by itself")
    with _audited_place(file, where) as (name, engine_of):
        found = _audit_one(name, engine_of, job_id) if job_id else _audit_due(name, engine_of, take_up=take_up)
    if as_json:
        _print_document(found)
    else:
        _show(found)
    if found.left_out:
        causes = ", ".join(f"{count:,} {why.replace('_', ' ')}" for why, count in found.left_out.items())
        click.echo(f"Not everything could be audited: {causes}.", err=True)
    if found.ticks_late:
        click.echo(found.ticks_late, err=True)
    bad = found.counts["holes"] or found.unreadable or found.ticks_late
    sys.exit(HOLES_FOUND if bad else NOT_WHOLE if found.left_out else 0)


EngineOf = Callable[[int], Engine]
"""Returns the engine of an audited place, for a number of shards."""


def _served_file() -> Path | None:
    """Return the data file of the server of this folder. None: the local AWS runs here."""
    stack = local_stack("name a table with --table, or a file with --data")
    return None if "endpoint_url" in stack or "data" not in stack else Path(stack["data"])


@contextmanager
def _audited_place(file: Path | None, where: dict[str, str | None]) -> Iterator[tuple[str, EngineOf]]:
    """Give the name and the engine of the audited place. Its failures end in a sentence."""
    if file is None:
        name, connection = find_table(**where)
        with aws_errors_in_a_sentence(name, NotAudited):
            yield name, lambda shards: engine_on_table(name, connection, shards)
        return
    from onthedot.wiring.sqlite_copy import engine_on_copy  # noqa: PLC0415 - loads the embedded engine

    try:
        with engine_on_copy(file) as engine:
            yield str(file), lambda _: engine
    except OnthedotError as error:
        raise NotAudited(str(error)) from error


def _audit_one(name: str, engine_of: EngineOf, job_id: str) -> Audited:
    engine = engine_of(1)
    job = engine.store.get(job_id)
    if job is None:
        raise click.BadParameter(f"there is no job {job_id} in {name}", param_hint="JOB_ID")
    if job.kind is not Kind.RECURRING:
        raise click.BadParameter(f"{job_id} is not a recurring job", param_hint="JOB_ID")
    found = Audited()
    report = audit_recent(engine, job)
    found.add(job, report)
    found.counts.update(jobs=1, expected=report.expected, unread=report.unread)
    found.counts.update(holes=len(report.holes), late=len(report.late))
    found.ticks_late = late_ticks(engine)
    return found


def _audit_due(name: str, engine_of: EngineOf, *, take_up: bool) -> Audited:
    engine = engine_of(1)
    shards = engine.shards.read().used
    if not shards:
        raise NotAudited(f"{name}: no job was stored there yet")
    found = Audited()
    put_back: dict[str, int] = {"put_back": _take_up(engine_of, shards)} if take_up else {}
    deadline = Deadline.after(engine.clock.now(), PATIENCE_MS)
    found.counts = audit_due_jobs(engine, range(shards), deadline, found.add, found.unreadable.append)
    found.counts.update(put_back)
    found.ticks_late = late_ticks(engine)
    return found


def _take_up(engine_of: EngineOf, shards: int) -> int:
    """Put the set-aside records that can be read back into their slots. Return their number."""
    engine = engine_of(shards)
    deadline = Deadline.after(engine.clock.now(), PATIENCE_MS)
    counts: Counter[str] = Counter()
    for shard in range(shards):
        set_aside.take_up(engine, counts, shard, deadline, unhandled_ms=0, whole=True)
    return counts["put_back"]


def _print_document(found: Audited) -> None:
    jobs: list[dict[str, Any]] = [
        {
            "job_id": job.job_id,
            "status": job.status,
            "expected": report.expected,
            "accounted": report.accounted,
            "holes": _findings(report.holes),
            "late": _findings(report.late),
            "unread": report.unread,
        }
        for job, report in found.jobs
    ]
    faulty = [{"id": one.run_id, "why": one.why} for one in found.unreadable]
    print_document({"jobs": jobs, "counts": found.counts, "unreadable": faulty, "ticks": found.ticks_late})


def _findings(found: Sequence[Finding]) -> list[dict[str, str]]:
    return [{"time": format_instant(finding.time), "why": finding.why} for finding in found]


def _show(found: Audited) -> None:
    worst_first = sorted(found.jobs, key=lambda one: (-len(one[1].holes), -len(one[1].late), one[0].job_id))
    if worst_first:
        rows = [
            (
                job.job_id,
                job.status,
                *map(str, (report.expected, report.accounted, len(report.late), len(report.holes))),
            )
            for job, report in worst_first[:MAX_ROWS]
        ]
        print_rows(COLUMNS, rows)
    for job, report in worst_first:
        for finding in report.holes[:MAX_TIMES]:
            click.echo(f"{click.style('hole', fg='red')} {job.job_id} {format_instant(finding.time)}: {finding.why}")
    for one in found.unreadable[:MAX_ROWS]:
        click.echo(f"{click.style('set aside', fg='red')} {printable(f'{one.run_id}: {one.why}')}")
    counts = found.counts
    names = {"jobs": "jobs", "expected": "fire times", "late": "late", "holes": "holes", "unreadable": "unreadable"}
    click.echo(", ".join(f"{name}: {counts[count]}" for count, name in names.items()))
