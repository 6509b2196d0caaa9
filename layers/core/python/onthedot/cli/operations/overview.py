"""`onthedot overview`, `queues` and `workers`: the state of a stage."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, zip_longest
from typing import Any, Final, NamedTuple

import click
from rich.cells import cell_len

from onthedot.cli.documents import Documents
from onthedot.cli.options import on_api
from onthedot.cli.output import (
    Cells,
    cut,
    fitted,
    is_for_people,
    line_of,
    print_document,
    print_list,
    print_next,
    printable,
    short,
    word,
    wrapped,
)
from onthedot.cli.times import age, briefly, day_and_clock, read_moment, this_moment
from onthedot.client import requests

STATES: Final = {"on_time": "green", "idle": "green", "late": "red", "failing": "red", "held_up": "yellow"}
OLD_SECONDS: Final = 300
"""A queue whose oldest message waits longer is coloured."""
INDENT: Final = 2
TITLES: Final = 11
"""Width of the titles next to facts."""
QUEUE_COLUMNS: Final = ("POOL", "PRIORITY", "WAITING", "OLDEST", "DELAYED", "IN FLIGHT", "DEAD LETTERS")
WORKER_COLUMNS: Final = (
    *("WORKER", "POOL", "STATUS", "RUNS", "CPU", "MEMORY MB", "STORAGE MB", "HEARTBEAT", "CAPABILITIES"),
)
WORKER_STATUSES: Final = ("ACTIVE", "DRAINING", "LOST", "STOPPED")
_RESOURCES: Final = ("concurrency", "cpu", "memory_mb", "storage_mb")
_COUNTS: Final = ("waiting", "delayed", "in_flight", "dead_letters")
_ENDS: Final = ("succeeded", "failed", "skipped", "cancelled")
_BARS: Final = "▁▂▃▄▅▆▇█"


@click.command()
@on_api
def overview(api: Documents, as_json: bool) -> None:
    """Show the state of the stage, its queues, workers and failures.

    In a pipe, it prints one fact per line, separated by tabs.

    \b
    Example:
      onthedot overview
    """
    document = print_overview(api, as_json=as_json)
    if document.get("failures") and not as_json:
        print_next("onthedot dead-letters", "onthedot list --status failed --since 1h")


def print_overview(api: Documents, *, as_json: bool) -> Mapping[str, Any]:
    """Print the overview and return it: for people as a screen, for a pipe one row on a line."""
    document: Mapping[str, Any] = api.ask(requests.overview())
    sections = sections_of(document, this_moment())
    if as_json:
        print_document(document)
    elif is_for_people():
        for line in lines_of(sections, shutil.get_terminal_size().columns):
            click.secho(line.text, fg=line.colour, bold=line.bold)
    else:
        for section in sections:
            for row in section.rows:
                click.echo("\t".join((section.title.lower() or "summary", *row.cells)))
    return document


class Row(NamedTuple):
    """A row of a section: its cells, and the job that Enter explains, if it has one."""

    cells: tuple[str, ...]
    colour: str | None = None
    job_id: str | None = None

    @property
    def text(self) -> str:
        """All cells as one text, in which a filter searches."""
        return "  ".join(self.cells)


class Section(NamedTuple):
    """A title and its rows. `is_list` says whether its rows can be chosen and filtered."""

    title: str
    rows: Sequence[Row]
    is_list: bool = True


class Line(NamedTuple):
    text: str
    colour: str | None = None
    bold: bool = False
    row: Row | None = None
    """The row of a list, which can be chosen."""


def lines_of(sections: Sequence[Section], columns: int, wanted: str = "") -> list[Line]:
    """Return the lines of all sections, each cut to the width. Lists have only the rows with the wanted text."""
    return [line for section in sections for line in _section(section, columns, wanted.lower())]


def _section(section: Section, columns: int, wanted: str) -> Iterator[Line]:
    if not section.title:
        # The answer to all is never cut.
        for row in section.rows:
            yield from (Line(text, row.colour, bold=True) for text in wrapped(row.text, columns))
        return
    if not section.is_list:
        for place, row in enumerate(section.rows):
            title = "" if place else section.title
            yield Line(cut(title.ljust(TITLES) + row.text, columns), row.colour)
        return
    rows = [row for row in section.rows if wanted in row.text.lower()]
    if not rows:
        return
    yield Line(cut(section.title, columns), bold=True)
    by_column = zip_longest(*(row.cells for row in rows), fillvalue="")
    widths = fitted([max(map(cell_len, column)) for column in by_column], columns - INDENT)
    for row in rows:
        cells = [*row.cells, *[""] * (len(widths) - len(row.cells))]
        yield Line(cut(" " * INDENT + line_of(cells, widths), columns), row.colour, row=row)


def sections_of(document: Mapping[str, Any], now: datetime) -> list[Section]:
    """Say where a part is not known now, and still show the others."""
    unknown = set(document.get("unknown") or ())
    makers: Sequence[tuple[str, str, Callable[[Any, datetime], Sequence[Row]], bool]] = (
        ("", "summary", _summary, False),
        ("Ticks", "last_tick", lambda _, __: _ticks(document), False),
        ("Last hour", "hour", _hour, False),
        ("Workers", "workers", _workers, False),
        ("Due", "due", _due, False),
        ("Held up", "hold_ups", _hold_ups, True),
        ("Queues", "queues", _queues, True),
        ("Next", "next", _next, True),
        ("Failures", "failures", _failures, True),
    )
    found = []
    for title, name, make, is_list in makers:
        if name in unknown:
            found.append(Section(title, [Row(("not known now",), "yellow")], is_list=False))
        elif document.get(name) is not None or name == "last_tick":
            found.append(Section(title, make(document.get(name), now), is_list))
    return [section for section in found if section.rows]


def _summary(summary: Any, _: datetime) -> Sequence[Row]:
    return [Row((printable(str(summary.get("message") or "-")),), STATES.get(summary.get("state")))]


def _ticks(document: Mapping[str, Any]) -> Sequence[Row]:
    seconds, status = document.get("tick_age_seconds"), document.get("status")
    last = "no tick yet" if seconds is None else f"the last one was {age(seconds)} ago"
    return [Row((f"{_said(status)}, {last}",), "red" if status == "late" else None)]


def _hour(hour: Any, _: datetime) -> Sequence[Row]:
    ends = ", ".join(f"{number(hour.get(name))} {name}" for name in _ENDS if hour.get(name) or name in _ENDS[:2])
    more = ", ".join(f"{number(hour[name])} {name}" for name in ("retries", "lost") if hour.get(name))
    late = hour.get("lateness") or {}
    names = (("p50", "p50_ms"), ("p99", "p99_ms"), ("max", "max_ms"))
    shown = ", ".join(f"{word} {'-' if (ms := late.get(name)) is None else briefly(ms / 1000)}" for word, name in names)
    minutes = [sum(one.get(name) or 0 for name in _ENDS) for one in hour.get("minutes") or []]
    return [
        Row((ends + (f"; {more}" if more else ""),), "red" if hour.get("failed") else None),
        *([Row((f"late by {shown}",))] if late.get("p50_ms") is not None else []),
        *([Row((f"{chart(minutes)}  {minutes[-1]:,}/min",))] if any(minutes) else []),
    ]


def _workers(found: Any, _: datetime) -> Sequence[Row]:
    alive, silent = found.get("alive") or 0, found.get("silent") or 0
    if not alive and not silent:
        return [Row(("no pull workers",))]
    used = f"running {number(found.get('running'))} of at most {number(found.get('concurrency'))} runs"
    quiet = f", {silent:,} silent" if silent else ""
    return [Row((f"{alive:,} alive{quiet}, {used}",), "yellow" if silent else None)]


def _due(minutes: Any, now: datetime) -> Sequence[Row]:
    runs = [one.get("runs") or 0 for one in minutes]
    if not any(runs):
        return [Row(("nothing in the next hour",))]
    busiest = max(minutes, key=lambda one: one.get("runs") or 0)
    when = _clock(busiest.get("time"), now)
    if sum(runs) == 1:
        return [Row((chart(runs),)), Row((f"1 run in the next hour, at {when}",))]
    return [Row((chart(runs),)), Row((f"{sum(runs):,} runs in the next hour, most at {when}: {max(runs):,}",))]


def _hold_ups(ones: Any, _: datetime) -> Sequence[Row]:
    return [Row((_said(one.get("message")),), "yellow", one.get("job_id")) for one in ones]


def _queues(ones: Any, _: datetime) -> Sequence[Row]:
    busy = [one for one in ones if one.get("error") or any(one.get(name) for name in _COUNTS)]
    return [_queue(one) for one in busy] or ([Row(("all are empty",))] if ones else [])


def _queue(queue: Mapping[str, Any]) -> Row:
    name = f"{_said(queue['pool'])}{'' if queue.get('priority') is None else ' ' + str(queue['priority']).lower()}"
    if queue.get("error"):
        return Row((name, _said(queue["error"])), "yellow")
    oldest = queue.get("oldest_age_seconds")
    waits = f", the oldest for {age(oldest)}" if oldest is not None else ""
    counts = f"{number(queue.get('waiting'))} waiting{waits}, {number(queue.get('in_flight'))} in flight"
    delayed = f", {queue['delayed']:,} delayed" if queue.get("delayed") else ""
    return Row((name, counts + delayed), "red" if (oldest or 0) > OLD_SECONDS else None)


def _next(ones: Any, now: datetime) -> Sequence[Row]:
    return [Row((_clock(one.get("fire_time"), now), _name(one)), None, one.get("job_id")) for one in ones]


def _failures(ones: Any, now: datetime) -> Sequence[Row]:
    """Failures of one job with one error that follow each other are one row."""
    rows = []
    for (job_id, error), group in groupby(ones, key=lambda one: (one.get("job_id"), one.get("error"))):
        latest, *others = group
        times = f"  ×{len(others) + 1}" if others else ""
        cells = (_clock(latest.get("finished_at"), now), f"{_name(latest)}{times}", _said(error))
        rows.append(Row(cells, "red", job_id))
    return rows


def _name(one: Mapping[str, Any]) -> str:
    return _said(one.get("name") or one.get("job_id"))


def _clock(text: Any, now: datetime) -> str:
    moment = read_moment(text)
    return "-" if moment is None else day_and_clock(moment, now).removeprefix("today ")


def _said(text: Any) -> str:
    return "-" if text is None else short(printable(str(text)))


def number(value: Any) -> str:
    """Show a question mark for a count that is not known."""
    return f"{value:,}" if isinstance(value, int) else "?"


def chart(values: Sequence[int], most: int = 60) -> str:
    """Return a bar for each of the last values, the highest for the largest. No bar at all stands for zero."""
    shown = values[-most:]
    highest = max(shown, default=0)
    return "".join(_BARS[(value * len(_BARS) - 1) // highest] if value > 0 else " " for value in shown)


@click.command()
@on_api
def queues(api: Documents, as_json: bool) -> None:
    """Show how many runs of all tenants are waiting for workers.

    WAITING runs are due, but no worker has taken them yet; OLDEST says how long the first of them has waited. DELAYED
    runs are due soon. DEAD LETTERS are messages that could not be delivered; their runs are sent again.

    \b
    Example:
      onthedot queues
    """
    found, cells = api.ask(requests.queues())["queues"], Cells()

    def row(queue: dict[str, Any]) -> tuple[str, ...]:
        def count(name: str) -> str:
            value = queue.get(name)
            return number(value) if cells.for_people else "-" if value is None else str(value)

        oldest = queue.get("oldest_age_seconds")
        waits = count("oldest_age_seconds") if oldest is None or not cells.for_people else age(oldest)
        names = (str(queue["pool"]), str(queue.get("priority") or "all"))
        return (*names, count("waiting"), waits, *map(count, _COUNTS[1:]))

    print_list(found, QUEUE_COLUMNS, row, "There are no queues.", as_json=as_json)
    if as_json:
        return
    for one in found:
        if one.get("error"):
            click.echo(printable(f"{one['pool']}: {one['error']}"), err=True)
    if any(one.get("waiting") for one in found):
        print_next("onthedot workers", "onthedot overview")


@click.command()
@click.option(
    "--status", type=click.Choice(WORKER_STATUSES, case_sensitive=False), help="Only workers with this status."
)
@on_api
def workers(status: str | None, api: Documents, as_json: bool) -> None:
    """List the pull workers that may run your jobs.

    RUNS says how many runs a worker has, out of how many it takes at a time. CPU, MEMORY and STORAGE say how much these
    runs asked for, out of what the worker has.

    \b
    Example:
      onthedot workers --status active
    """
    found, cells = api.ask(requests.workers(status))["workers"], Cells()

    def row(worker: dict[str, Any]) -> tuple[str, ...]:
        beat = read_moment(worker["heartbeat_at"])
        seconds = 0.0 if beat is None else max(0.0, (cells.now - beat).total_seconds())
        return (
            str(worker["worker_id"]),
            str(worker["pool"]),
            str(worker["status"]),
            *(_used(worker, name, for_people=cells.for_people) for name in _RESOURCES),
            f"{briefly(seconds)} ago" if beat and cells.for_people else str(worker["heartbeat_at"]),
            ", ".join(sorted(worker["capabilities"], key=lambda one: one.startswith("python:"))) or "-",
        )

    none = "There are no such workers. Start one: onthedot worker --pool NAME"
    print_list(found, WORKER_COLUMNS, row, none, as_json=as_json)
    if found and not as_json:
        print_next(f"onthedot executions --worker {word(str(found[0]['worker_id']))}", "onthedot queues")


def _used(worker: dict[str, Any], name: str, *, for_people: bool) -> str:
    """People need not read that a worker has none of a resource."""
    used, total = worker["used"].get(name, 0), worker["resources"][name]
    if for_people and not total and name != "concurrency":
        return "-"
    return " of ".join(str(value) if isinstance(value, int) else f"{value:g}" for value in (used, total))
