"""`onthedot audit`: check in the table that every recent fire time of recurring jobs has one recorded outcome."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import click
from rich import box
from rich.console import Console
from rich.table import Column, Table

from onthedot.cli.where import aws_errors_in_a_sentence, find_table, table_options
from onthedot.domain.instants import format_instant
from onthedot.domain.reports.audit import Finding, Report
from onthedot.domain.runs.endings import TOMBSTONE_DAYS
from onthedot.domain.runs.records import Kind, Record
from onthedot.ports import Deadline, Engine
from onthedot.settings import AuditorSettings
from onthedot.use_cases.dispatch.audit_jobs import audit_due_jobs, audit_recent

PATIENCE_MS: Final = 600_000
MOST_ROWS: Final = 50
MOST_TIMES: Final = 10
HOLES_FOUND: Final = 1
NOT_WHOLE: Final = 2


class NotAudited(click.ClickException):
    """The audit could not be made. It says nothing about the jobs."""

    exit_code = NOT_WHOLE


@dataclass(slots=True)
class Audited:
    """The collected reports of one audit, job by job, with its counts."""

    jobs: list[tuple[Record, Report]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, job: Record, report: Report) -> None:
        self.jobs.append((job, report))

    @property
    def left_out(self) -> dict[str, int]:
        """The number of fire times or jobs that could not be read, by cause."""
        return {why: self.counts[why] for why in ("unread", "out_of_time", "unavailable") if self.counts[why]}


@click.command()
@click.argument("job_id", required=False)
@table_options
@click.option("--json", "as_json", is_flag=True, help="Print every audited job as one JSON document.")
def audit(job_id: str | None, table: str | None, region: str | None, endpoint_url: str | None, as_json: bool) -> None:
    """Check that every recent fire time has one recorded outcome.

    It audits the recurring job JOB_ID, or all recurring jobs that fire within the hour. Exit code 1: there are holes.
    Exit code 2: not all could be audited.

    \b
    Example:
      onthedot audit --table onthedot-prod --region eu-central-1
    """
    table, connection = find_table(table, region, endpoint_url)
    with aws_errors_in_a_sentence(table, NotAudited):
        found = _audit_one(table, connection, job_id) if job_id else _audit_due(table, connection)
    if as_json:
        click.echo(json.dumps({"jobs": [_view(*one) for one in found.jobs], "counts": found.counts}))
    else:
        _show(found)
    if found.left_out:
        click.echo(f"not all could be audited: {found.left_out}", err=True)
    sys.exit(HOLES_FOUND if found.counts["holes"] else NOT_WHOLE if found.left_out else 0)


def _engine(table: str, connection: dict[str, Any]) -> Engine:
    from onthedot.wiring.aws import auditor_engine  # noqa: PLC0415 - needs the AWS packages

    # The command does not know how long this deployment keeps its history. No deployment keeps it for less time than
    # this. It reads the number of shards from the table.
    settings = AuditorSettings(
        stage="",
        table=table,
        shards=1,
        lookahead=0,
        history_days=TOMBSTONE_DAYS,
        backlog_limit=0,
        queue_urls={},
        pools=[],
    )
    return auditor_engine(settings, **connection)


def _audit_one(table: str, connection: dict[str, Any], job_id: str) -> Audited:
    engine = _engine(table, connection)
    job = engine.store.get(job_id)
    if job is None:
        raise click.BadParameter(f"there is no job {job_id} in {table}", param_hint="JOB_ID")
    if job.kind is not Kind.RECURRING:
        raise click.BadParameter(f"{job_id} is not a recurring job", param_hint="JOB_ID")
    found = Audited()
    report = audit_recent(engine, job)
    found.add(job, report)
    found.counts.update(jobs=1, expected=report.expected, unread=report.unread)
    found.counts.update(holes=len(report.holes), late=len(report.late))
    return found


def _audit_due(table: str, connection: dict[str, Any]) -> Audited:
    engine = _engine(table, connection)
    shards = engine.shards.read().used
    if not shards:
        raise NotAudited(f"{table}: no job was stored in this table yet")
    found = Audited()
    found.counts = audit_due_jobs(engine, range(shards), Deadline.after(engine.clock.now(), PATIENCE_MS), found.add)
    return found


def _view(job: Record, report: Report) -> dict[str, Any]:
    return {
        "job_id": job.job_id,
        "status": job.status,
        "expected": report.expected,
        "accounted": report.accounted,
        "holes": _findings(report.holes),
        "late": _findings(report.late),
        "unread": report.unread,
    }


def _findings(found: Sequence[Finding]) -> list[dict[str, str]]:
    return [{"time": format_instant(finding.time), "why": finding.why} for finding in found]


def _show(found: Audited) -> None:
    console = Console()
    worst_first = sorted(found.jobs, key=lambda one: (-len(one[1].holes), -len(one[1].late), one[0].job_id))
    # Narrow enough for 80 columns with a whole id.
    table = Table(Column("job", no_wrap=True), "status", box=box.SIMPLE)
    for name in ("times", "accounted", "late", "holes"):
        table.add_column(name, justify="right")
    for job, report in worst_first[:MOST_ROWS]:
        numbers = (report.expected, report.accounted, len(report.late), len(report.holes))
        style = "red" if report.holes else "yellow" if report.late else None
        table.add_row(job.job_id, job.status, *(str(number) for number in numbers), style=style)
    if found.jobs:
        console.print(table)
    for job, report in worst_first:
        for finding in report.holes[:MOST_TIMES]:
            console.print(f"[red]hole[/] {job.job_id} {format_instant(finding.time)}: {finding.why}", soft_wrap=True)
    counts = found.counts
    names = {"jobs": "jobs", "expected": "fire times", "late": "late", "holes": "holes"}
    console.print(", ".join(f"{name}: {counts[count]}" for count, name in names.items()))
