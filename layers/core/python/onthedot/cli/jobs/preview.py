"""`onthedot preview`: show the next fire times of a schedule as a table and a calendar. It works offline."""

import json
from calendar import Calendar
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import groupby
from typing import Any, Final, TypedDict

import click
from rich.columns import Columns
from rich.console import Console
from rich.table import Table
from rich.text import Text

from onthedot.cli.jobs.preview_options import Options, read_options
from onthedot.clock import SystemClock
from onthedot.domain.errors import InvalidRequest
from onthedot.domain.instants import format_instant
from onthedot.domain.schedules import preview as domain
from onthedot.domain.schedules.spread import EXAMPLE_ID, has_h, plain_expression

MOST_MONTHS: Final = 3
"""Most months that the calendar shows. Months without a fire time are left out."""
_WEEKDAYS: Final = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")


class Fire(TypedDict):
    """One fire time, as `POST /v1/schedules/preview` answers it."""

    time: str
    local: str
    note: str | None


@click.command()
@click.argument("expression", required=False)
@click.option("--every", metavar="INTERVAL", help="Seconds or rate(5 minutes), instead of a cron expression.")
@click.option("--timezone", metavar="NAME", help="IANA name, such as Europe/Berlin.  [default: UTC]")
@click.option("--count", type=int, default=10, show_default=True, help="How many fires, up to 1000.")
@click.option("--after", metavar="TIME", help="RFC 3339 with an offset.  [default: now]")
@click.option("--gap", type=click.Choice(["run_after", "skip"]), help="For times that clocks jump over.")
@click.option("--overlap", type=click.Choice(["once", "twice"]), help="For times that clocks show twice.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer of POST /v1/schedules/preview.")
def preview(expression: str | None, as_json: bool, **options: Any) -> None:
    """Show when a schedule fires next.

    It also shows what a change of the clocks does to the schedule. EXPRESSION is a cron expression of five fields, an
    alias such as @daily, or EventBridge's cron(…).

    \b
    Example:
      onthedot preview "*/15 9-17 * * mon-fri" --timezone Europe/Berlin
    """
    fires = _fires(Options(cron=expression, **options))
    example = plain_expression(expression, EXAMPLE_ID) if expression and has_h(expression) else None
    if as_json:
        shown = {"fire_times": fires} if example is None else {"fire_times": fires, "example": example}
        click.echo(json.dumps(shown, ensure_ascii=False))
        return
    console = Console()
    if example is not None:
        console.print(f"The id of a job chooses H. This is an example: {example}", highlight=False)
    if not fires:
        console.print("It never fires again.")
        return
    console.print(_table(fires))
    console.print(Columns(_calendars(fires), padding=(0, 3)))


def _fires(options: Options) -> list[Fire]:
    """Return the fires. Raise click.ClickException with one line for each wrong option."""
    try:
        schedule, after = read_options(options, SystemClock().now())
    except InvalidRequest as error:
        problems = [f"{problem.field}: {problem.message}" for problem in error.problems]
        raise click.ClickException("\n".join(problems)) from error
    fires = domain.preview(schedule, after, options.count)
    return [{"time": format_instant(fire.at), "local": fire.local, "note": fire.note} for fire in fires]


def _table(fires: Sequence[Fire]) -> Table:
    """Return a table with a section for each local day. The date is in the first row of its section."""
    table = Table("date", "local time", "UTC", "note")
    for day, group in groupby(fires, key=lambda fire: fire["local"][:10]):
        for number, fire in enumerate(group):
            date_cell = "" if number else f"{_day(day):%a} {day}"
            table.add_row(date_cell, fire["local"][11:], _utc(fire, day), Text(fire["note"] or "", style="yellow"))
        table.add_section()
    return table


def _utc(fire: Fire, day: str) -> str:
    """Return the UTC time, with the date when it differs from the local one."""
    text = fire["time"].removesuffix("Z").removesuffix(".000").replace("T", " ")
    return text.removeprefix(f"{day} ")


def _calendars(fires: Sequence[Fire]) -> Iterator[Table]:
    days = {_day(fire["local"][:10]) for fire in fires}
    months = sorted({(day.year, day.month) for day in days})
    return (_calendar(year, month, days) for year, month in months[:MOST_MONTHS])


def _calendar(year: int, month: int, fire_days: set[date]) -> Table:
    table = Table(*_WEEKDAYS, title=f"{date(year, month, 1):%B %Y}", box=None, padding=(0, 0, 0, 1))
    for week in Calendar().monthdatescalendar(year, month):
        table.add_row(*(_cell(day, day in fire_days) if day.month == month else "" for day in week))
    return table


def _cell(day: date, fires: bool) -> Text:
    # The bracket shows the day without colours too.
    return Text(f"[{day.day:2}]" if fires else f" {day.day:2} ", style="bold green" if fires else "dim")


def _day(text: str) -> date:
    return date.fromisoformat(text)
