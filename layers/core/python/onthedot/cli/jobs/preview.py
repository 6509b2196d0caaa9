"""`onthedot preview`: show the next fire times of a schedule as a table and a calendar. It works offline."""

import json
import shutil
from calendar import Calendar
from collections.abc import Sequence
from datetime import date
from itertools import zip_longest
from typing import Any, Final, TypedDict

import click

from onthedot.cli.common.failures import Refusal
from onthedot.cli.common.tables import wrapped
from onthedot.cli.jobs.preview_options import Options, read_options
from onthedot.cli.limit_text import is_for_people, print_rows
from onthedot.clock import SystemClock
from onthedot.domain.errors import InvalidRequest
from onthedot.domain.instants import format_instant
from onthedot.domain.schedules import preview as domain
from onthedot.domain.schedules.spread import EXAMPLE_ID, has_h, plain_expression

MOST_MONTHS: Final = 3
"""Most months that the calendar shows. Months without a fire time are left out."""
COLUMNS: Final = ("DATE", "LOCAL TIME", "UTC", "NOTE")
WEEK: Final = 28
"""Cells of a week in the calendar."""
GAP: Final = 3
BEFORE_NOTE: Final = 53
"""Cells of the columns before the note, when the UTC time has a date."""
_WEEKDAYS: Final = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")


class Fire(TypedDict):
    """One fire time, as `POST /v1/schedules/preview` answers it."""

    time: str
    local: str
    note: str | None


@click.command()
@click.argument("expression", required=False)
@click.option("--cron", metavar="EXPRESSION", help="The same as EXPRESSION, as `onthedot schedule` takes it.")
@click.option("--every", metavar="INTERVAL", help="Seconds or rate(5 minutes), instead of a cron expression.")
@click.option(
    "--tz", "--timezone", "timezone", metavar="NAME", help="IANA name, such as Europe/Berlin.  [default: UTC]"
)
@click.option("--count", type=int, default=10, show_default=True, help="How many fires, up to 1000.")
@click.option("--after", metavar="TIME", help="RFC 3339 with an offset.  [default: now]")
@click.option("--gap", type=click.Choice(["run_after", "skip"]), help="For times that clocks jump over.")
@click.option("--overlap", type=click.Choice(["once", "twice"]), help="For times that clocks show twice.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer of POST /v1/schedules/preview.")
def preview(expression: str | None, cron: str | None, as_json: bool, **options: Any) -> None:
    """Show when a schedule fires next.

    It also shows what a change of the clocks does to the schedule. EXPRESSION is a cron expression of five fields, an
    alias such as @daily, or EventBridge's cron(…).

    \b
    Example:
      onthedot preview "*/15 9-17 * * mon-fri" --tz Europe/Berlin
    """
    if expression is not None and cron is not None:
        raise click.UsageError("give EXPRESSION or --cron, not both")
    expression = cron if expression is None else expression
    fires = _fires(Options(cron=expression, **options))
    example = plain_expression(expression, EXAMPLE_ID) if expression and has_h(expression) else None
    if as_json:
        shown = {"fire_times": fires} if example is None else {"fire_times": fires, "example": example}
        click.echo(json.dumps(shown, ensure_ascii=False))
        return
    if example is not None:
        click.echo(f"The id of a job chooses H. This is an example: {example}", err=True)
    print_rows(COLUMNS, _rows(fires), "It never fires again.")
    if fires and is_for_people():
        _print_calendars(fires)


def _fires(options: Options) -> list[Fire]:
    """Return the fires. Raise Refusal with one line for each wrong option."""
    try:
        schedule, after = read_options(options, SystemClock().now())
    except InvalidRequest as error:
        problems = [f"{problem.field}: {problem.message}" for problem in error.problems]
        raise Refusal("\n".join(problems)) from error
    fires = domain.preview(schedule, after, options.count)
    return [{"time": format_instant(fire.at), "local": fire.local, "note": fire.note} for fire in fires]


def _rows(fires: Sequence[Fire]) -> list[tuple[str, ...]]:
    """Return a row for each fire time. People see a date only once."""
    rows: list[tuple[str, ...]] = []
    before = ""
    for fire in fires:
        day = fire["local"][:10]
        shown = "" if day == before and is_for_people() else f"{_day(day):%a} {day}"
        note, *others = _notes(fire)
        rows += [(shown, fire["local"][11:], _utc(fire, day), note), *(("", "", "", other) for other in others)]
        before = day
    return rows


def _notes(fire: Fire) -> list[str]:
    """Return the note of a fire time. People get it as lines beside the other columns, and never cut."""
    note = fire["note"] or "-"
    return wrapped(note, shutil.get_terminal_size().columns - BEFORE_NOTE) if is_for_people() else [note]


def _utc(fire: Fire, day: str) -> str:
    """Return the UTC time, with the date when it differs from the local one."""
    text = fire["time"].removesuffix("Z").removesuffix(".000").replace("T", " ")
    return text.removeprefix(f"{day} ")


def _print_calendars(fires: Sequence[Fire]) -> None:
    """Print the months beside each other, as many as fit, with brackets around the days that have a fire time."""
    days = {_day(fire["local"][:10]) for fire in fires}
    months = sorted({(day.year, day.month) for day in days})[:MOST_MONTHS]
    fitting = max(1, (shutil.get_terminal_size().columns + GAP) // (WEEK + GAP))
    for first in range(0, len(months), fitting):
        shown = [_calendar(year, month, days) for year, month in months[first : first + fitting]]
        click.echo()
        for lines in zip_longest(*shown, fillvalue=" " * WEEK):
            click.echo((" " * GAP).join(lines).rstrip())


def _calendar(year: int, month: int, fire_days: set[date]) -> list[str]:
    weeks = Calendar().monthdatescalendar(year, month)
    rows = ["".join(_cell(day, day in fire_days) if day.month == month else "    " for day in week) for week in weeks]
    return [f"{date(year, month, 1):%B %Y}".center(WEEK), "".join(f" {name} " for name in _WEEKDAYS), *rows]


def _cell(day: date, fires: bool) -> str:
    # The bracket shows the day without colours too.
    return click.style(f"[{day.day:2}]", bold=True) if fires else f" {day.day:2} "


def _day(text: str) -> date:
    return date.fromisoformat(text)
