"""The document of GET /v1/overview as sections of rows. A part that is not known now says so, and hides no other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Final

from onthedot.cli.common.moments import day_and_clock, read_moment
from onthedot.cli.screens.numbers import chart, number, short_ms, short_seconds
from onthedot.cli.text import printable, short

STATES: Final = {"on_time": "green", "idle": "green", "late": "red", "failing": "red", "held_up": "yellow"}
OLD_SECONDS: Final = 300
"""A queue whose oldest message waits longer is coloured."""
_COUNTS: Final = ("waiting", "delayed", "in_flight", "dead_letters")
_ENDS: Final = ("succeeded", "failed", "skipped", "cancelled")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a section: its cells, and the job that Enter explains, if it has one."""

    cells: tuple[str, ...]
    colour: str | None = None
    job_id: str | None = None

    @property
    def text(self) -> str:
        """All cells as one text, in which a filter searches."""
        return "  ".join(self.cells)


@dataclass(frozen=True, slots=True)
class Section:
    """A title and its rows. `is_list` says whether its rows can be chosen and filtered."""

    title: str
    rows: Sequence[Row]
    is_list: bool = True


def sections_of(document: Mapping[str, Any], now: datetime) -> list[Section]:
    """Return the sections of an overview. A section without rows is left out."""
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
    """Return the answer to all. It is never cut."""
    return [Row((printable(str(summary.get("message") or "-")),), STATES.get(summary.get("state")))]


def _ticks(document: Mapping[str, Any]) -> Sequence[Row]:
    age, status = document.get("tick_age_seconds"), document.get("status")
    last = "no tick yet" if age is None else f"the last one was {short_seconds(age)} ago"
    colour = "red" if status == "late" else None
    return [Row((f"{_said(status)}, {last}",), colour)]


def _hour(hour: Any, _: datetime) -> Sequence[Row]:
    ends = ", ".join(f"{number(hour.get(name))} {name}" for name in _ENDS if hour.get(name) or name in _ENDS[:2])
    more = ", ".join(f"{number(hour[name])} {name}" for name in ("retries", "lost") if hour.get(name))
    late = hour.get("lateness") or {}
    names = (("p50", "p50_ms"), ("p99", "p99_ms"), ("most", "max_ms"))
    shown = ", ".join(f"{word} {short_ms(late.get(name))}" for word, name in names)
    minutes = [sum(one.get(name) or 0 for name in _ENDS) for one in hour.get("minutes") or []]
    rate = f"  {minutes[-1]:,}/min" if minutes else ""
    return [
        Row((ends + (f"; {more}" if more else ""),), "red" if hour.get("failed") else None),
        *([Row((f"late by {shown}",))] if late.get("p50_ms") is not None else []),
        *([Row((f"{chart(minutes)}{rate}",))] if any(minutes) else []),
    ]


def _workers(workers: Any, _: datetime) -> Sequence[Row]:
    alive, silent = workers.get("alive") or 0, workers.get("silent") or 0
    if not alive and not silent:
        return [Row(("no pull worker",))]
    used = f"{number(workers.get('running'))} of {number(workers.get('concurrency'))} places used"
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
    """Return the queues that are not empty, or one row when all are."""
    busy = [one for one in ones if one.get("error") or any(one.get(name) for name in _COUNTS)]
    return [queue_row(one) for one in busy] or ([Row(("all are empty",))] if ones else [])


def queue_row(queue: Mapping[str, Any]) -> Row:
    """Return a queue in words."""
    name = f"{_said(queue['pool'])}{'' if queue.get('priority') is None else ' ' + str(queue['priority']).lower()}"
    if queue.get("error"):
        return Row((name, _said(queue["error"])), "yellow")
    age = queue.get("oldest_age_seconds")
    waits = f", the oldest for {short_seconds(age)}" if age is not None else ""
    counts = f"{number(queue.get('waiting'))} waiting{waits}, {number(queue.get('in_flight'))} in flight"
    delayed = f", {queue['delayed']:,} delayed" if queue.get("delayed") else ""
    return Row((name, counts + delayed), "red" if (age or 0) > OLD_SECONDS else None)


def _next(ones: Any, now: datetime) -> Sequence[Row]:
    return [Row((_clock(one.get("fire_time"), now), _name(one)), None, one.get("job_id")) for one in ones]


def _failures(ones: Any, now: datetime) -> Sequence[Row]:
    """Return the failures, the latest first. Those of one job with one error that follow each other are one row."""
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
