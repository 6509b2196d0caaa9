"""`onthedot preview`: the coming fires of a schedule as a table and a calendar. Works offline."""

import json
from calendar import Calendar
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import groupby
from typing import Any, Final

import click
from rich.columns import Columns
from rich.console import Console
from rich.table import Table
from rich.text import Text

from onthedot.api.schedules.previews import read_preview
from onthedot.api.schedules.show import preview_view
from onthedot.api.schedules.views import FireTimeView
from onthedot.clock import SystemClock
from onthedot.domain.errors import InvalidRequest

MOST_MONTHS: Final = 3
"""Drawn, of all that the fires lie in."""
_WEEKDAYS: Final = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")


@click.command()
@click.argument("expression", required=False)
@click.option("--every", type=int, metavar="SECONDS", help="An interval instead of a cron expression.")
@click.option("--timezone", metavar="NAME", help="IANA name, such as Europe/Berlin.  [default: UTC]")
@click.option("--count", type=int, default=10, show_default=True, help="How many fires, up to 1000.")
@click.option("--after", metavar="TIME", help="RFC 3339 with an offset.  [default: now]")
@click.option("--gap", type=click.Choice(["run_after", "skip"]), help="For times that clocks jump over.")
@click.option("--overlap", type=click.Choice(["once", "twice"]), help="For times that clocks show twice.")
@click.option("--json", "as_json", is_flag=True, help="What POST /v1/schedules/preview answers.")
def preview(expression: str | None, as_json: bool, gap: str | None, overlap: str | None, **options: Any) -> None:
    """Show when a schedule fires next, and what changes of the clocks do to it.

    EXPRESSION has five fields, such as "*/15 9-17 * * mon-fri", or is an alias such as @daily.
    """
    dst = _given({"gap": gap, "overlap": overlap})
    fires = _fires(_given({"cron": expression, "dst": dst or None, **options}))
    if as_json:
        click.echo(json.dumps({"fire_times": fires}, ensure_ascii=False))
        return
    console = Console()
    if not fires:
        console.print("It never fires again.")
        return
    console.print(_table(fires))
    console.print(Columns(_calendars(fires), padding=(0, 3)))


def _fires(document: dict[str, Any]) -> list[FireTimeView]:
    """Raises click.ClickException, naming the field at fault."""
    try:
        found = read_preview(document, SystemClock().now())
    except InvalidRequest as error:
        problems = [f"{problem.field}: {problem.message}" for problem in error.problems]
        raise click.ClickException("\n".join(problems)) from error
    return preview_view(found.fires, found.jitter_seconds)["fire_times"]


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _table(fires: Sequence[FireTimeView]) -> Table:
    """A section for each local day, its date once."""
    table = Table("date", "local time", "UTC", "note")
    for day, group in groupby(fires, key=lambda fire: fire["local"][:10]):
        for number, fire in enumerate(group):
            date_cell = "" if number else f"{_day(day):%a} {day}"
            table.add_row(date_cell, fire["local"][11:], _utc(fire, day), Text(fire["note"] or "", style="yellow"))
        table.add_section()
    return table


def _utc(fire: FireTimeView, day: str) -> str:
    """The time, and the date where it is another."""
    text = fire["time"].removesuffix("Z").removesuffix(".000").replace("T", " ")
    return text.removeprefix(f"{day} ")


def _calendars(fires: Sequence[FireTimeView]) -> Iterator[Table]:
    days = {_day(fire["local"][:10]) for fire in fires}
    months = sorted({(day.year, day.month) for day in days})
    return (_calendar(year, month, days) for year, month in months[:MOST_MONTHS])


def _calendar(year: int, month: int, fire_days: set[date]) -> Table:
    table = Table(*_WEEKDAYS, title=f"{date(year, month, 1):%B %Y}", box=None, padding=(0, 0, 0, 1))
    for week in Calendar().monthdatescalendar(year, month):
        table.add_row(*(_cell(day, day in fire_days) if day.month == month else "" for day in week))
    return table


def _cell(day: date, fires: bool) -> Text:
    # A bracket, where colours do not show.
    return Text(f"[{day.day:2}]" if fires else f" {day.day:2} ", style="bold green" if fires else "dim")


def _day(text: str) -> date:
    return date.fromisoformat(text)
