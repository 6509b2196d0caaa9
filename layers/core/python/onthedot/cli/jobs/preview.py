"""`onthedot preview`: show the next fire times of a schedule as a table and a calendar. It works offline."""

import re
import shutil
from calendar import Calendar
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import zip_longest
from typing import Any, Final, TypedDict

import click

from onthedot.api.times import parse_instant
from onthedot.cli.documents import Refusal
from onthedot.cli.output import is_for_people, print_document, print_rows, wrapped
from onthedot.core.clock import SystemClock, format_instant
from onthedot.core.errors import InvalidRequest, Problem
from onthedot.schedules import preview as domain
from onthedot.schedules.choices import Gap, Overlap
from onthedot.schedules.cron import rate_seconds
from onthedot.schedules.fields import ONLY_CRON, RULE_FIELDS, new_schedule
from onthedot.schedules.schedule import Schedule
from onthedot.schedules.spread import EXAMPLE_ID, has_h, plain_expression
from onthedot.schedules.zones import LAST_INSTANT, zone

MAX_MONTHS: Final = 3
"""Months that the calendar shows. Months without a fire time are left out."""
COLUMNS: Final = ("DATE", "LOCAL TIME", "UTC", "NOTE")
WEEK: Final = 28
"""Cells of a week in the calendar."""
GAP: Final = 3
BEFORE_NOTE: Final = 53
"""Cells of the columns before the note, when the UTC time has a date."""
MAX_FIRES: Final = 1_000
MAX_SECONDS: Final = 3_653 * 86_400
"""Ten years, leap days included."""
_WEEKDAYS: Final = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")


class Fire(TypedDict):
    """One fire time, as `POST /v1/schedules/preview` answers it."""

    time: str
    local: str
    note: str | None


@click.command()
@click.argument("expression", required=False)
@click.option("--cron", metavar="EXPRESSION", help="Same as EXPRESSION; `onthedot schedule` has this option too.")
@click.option("--every", metavar="INTERVAL", help="Seconds or rate(5 minutes), instead of a cron expression.")
@click.option(
    "--tz", "--timezone", "timezone", metavar="NAME", help="IANA name, such as Europe/Berlin.  [default: UTC]"
)
@click.option("--count", type=int, default=10, show_default=True, help="How many fire times, up to 1000.")
@click.option("--after", metavar="TIME", help="RFC 3339 with an offset.  [default: now]")
@click.option(
    "--gap", type=click.Choice(["run_after", "skip"]), help="For times that clocks skip.  [default: run_after]"
)
@click.option(
    "--overlap", type=click.Choice(["once", "twice"]), help="For times that clocks show twice.  [default: once]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the response of POST /v1/schedules/preview.")
def preview(expression: str | None, cron: str | None, count: int, as_json: bool, **options: Any) -> None:
    """Show when a schedule fires next.

    It also shows what happens when clocks change. EXPRESSION is a cron expression of five fields, an alias such as
    @daily, or EventBridge's cron(…).

    \b
    Example:
      onthedot preview "*/15 9-17 * * mon-fri" --tz Europe/Berlin
    """
    if expression is not None and cron is not None:
        raise click.UsageError("give EXPRESSION or --cron, not both")
    expression = cron if expression is None else expression
    try:
        schedule, after = read_options(SystemClock().now(), cron=expression, count=count, **options)
    except InvalidRequest as error:
        raise Refusal("\n".join(f"{problem.field}: {problem.message}" for problem in error.problems)) from error
    fires: list[Fire] = [
        {"time": format_instant(fire.at), "local": fire.local, "note": fire.note}
        for fire in domain.preview(schedule, after, count)
    ]
    example = plain_expression(expression, EXAMPLE_ID) if expression and has_h(expression) else None
    if as_json:
        print_document({"fire_times": fires} if example is None else {"fire_times": fires, "example": example})
        return
    if example is not None:
        click.echo(f"H depends on the id of the job. For example: {example}", err=True)
    print_rows(COLUMNS, _rows(fires), "It never fires again.")
    if fires and is_for_people():
        _print_calendars(fires)


def _rows(fires: Sequence[Fire]) -> list[tuple[str, ...]]:
    """People see a date once, and notes as lines that are never cut."""
    rows: list[tuple[str, ...]] = []
    before, for_people, room = "", is_for_people(), shutil.get_terminal_size().columns - BEFORE_NOTE
    for fire in fires:
        day = fire["local"][:10]
        shown = "" if day == before and for_people else f"{date.fromisoformat(day):%a} {day}"
        utc = fire["time"].removesuffix("Z").removesuffix(".000").replace("T", " ").removeprefix(f"{day} ")
        note, *others = wrapped(fire["note"] or "-", room) if for_people else [fire["note"] or "-"]
        rows += [(shown, fire["local"][11:], utc, note), *(("", "", "", other) for other in others)]
        before = day
    return rows


def _print_calendars(fires: Sequence[Fire]) -> None:
    days = {date.fromisoformat(fire["local"][:10]) for fire in fires}
    months = sorted({(day.year, day.month) for day in days})[:MAX_MONTHS]
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


def read_options(now: int, **options: Any) -> tuple[Schedule, int]:
    """Read the options as the API reads them, without its packages: the schedule, and the instant to list it from.

    Raise InvalidRequest with every problem, in the API's words.
    """
    given = {name: value for name, value in options.items() if value is not None}
    problems = [*_wrong_choices(given)] or [*_wrong_values(given)]
    if problems:
        raise InvalidRequest(*problems)
    after = parse_instant(given["after"]) if "after" in given else now
    fields: dict[str, Any] = {name: given[name] for name in ("cron", "timezone") if name in given}
    if "every" in given:
        fields["every"] = _seconds(given["every"])
    dst = {name: kind(given[name]) for name, kind in (("gap", Gap), ("overlap", Overlap)) if name in given}
    # The preview ends where the calendar does.
    return replace(new_schedule({**fields, "dst": dst}, after), end_at=LAST_INSTANT - 1), after


def _wrong_choices(given: Mapping[str, Any]) -> Iterator[Problem]:
    if not given.keys() & set(RULE_FIELDS):
        yield Problem("cron", "is missing; give cron or every")
    elif "cron" not in given:
        present = {"timezone": "timezone" in given, "dst": bool(given.keys() & {"gap", "overlap"})}
        yield from (Problem(name, ONLY_CRON) for name, is_given in present.items() if is_given)
    elif "every" in given:
        yield from (Problem(name, "only one of cron, every may be given; keep one of them") for name in RULE_FIELDS)


def _wrong_values(given: Mapping[str, Any]) -> Iterator[Problem]:
    checks: Mapping[str, Callable[[Any], object]] = {
        "cron": lambda text: plain_expression(text, EXAMPLE_ID),
        "every": lambda text: _in_range(_seconds(text), MAX_SECONDS),
        "timezone": zone,
        "count": lambda count: _in_range(count, MAX_FIRES),
        "after": lambda text: _in_calendar(parse_instant(text)),
    }
    for name, check in checks.items():
        try:
            if name in given:
                check(given[name])
        except ValueError as error:
            yield Problem(name, str(error))


def _seconds(text: str) -> int:
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else rate_seconds(text)


def _in_range(number: int, most: int) -> int:
    if number < 1:
        raise ValueError("is too small; give 1 or more")
    if number > most:
        raise ValueError(f"is too large; give {most} or less")
    return number


def _in_calendar(instant: int) -> int:
    if instant < 0:
        raise ValueError("is before 1970; give a later time")
    if instant >= LAST_INSTANT:
        raise ValueError("is after the year 9998; give an earlier time")
    return instant
