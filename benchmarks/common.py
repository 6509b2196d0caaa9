"""Shared parts of the benchmarks: bars and tables, results as files, and jobs as users submit them."""

import gc
import hashlib
import hmac
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from onthedot.core.choices import Priority
from onthedot.core.pass_progress import ProgressStore, first_progress
from onthedot.core.ports import TickLease
from onthedot.core.records import Definition
from onthedot.core.schema import DEFAULT_POOL
from onthedot.core.slots import bucket_of
from onthedot.jobs.submit import JobRequest
from onthedot.schedules.schedule import CronSchedule, Recurrence, Schedule, every
from onthedot.targets.types import HttpTarget

ROOT: Final = Path(__file__).resolve().parent.parent
RESULTS: Final = ROOT / "build" / "benchmarks"
TENANT: Final = "acme"
CALM_REFERENCE_MS: Final = 2.6
"""CPU time of `_reference_work` on the machine that the bars were set on, while that machine is idle."""

console: Final = Console()


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure that must not be higher than `at_most`. `goal` is the figure that we want to reach."""

    what: str
    measured: float
    at_most: float
    unit: str = ""
    goal: float | None = None

    @property
    def holds(self) -> bool:
        return self.measured <= self.at_most


def begin_now(progress: ProgressStore, shards: tuple[int, ...], now: int) -> None:
    """Store progress as if every slot before this instant were read, so that a tick reads no older ones."""
    lease = TickLease(shards, "benchmark", now)
    progress.begin(lease, now)
    progress.finish(lease, {}, {shard: first_progress(0, None, bucket_of(now)) for shard in shards})


def finish(name: str, results: Mapping[str, Any], bars: Sequence[Bar]) -> int:
    """Write the results, show the bars, and return the exit code: 1 when a bar is missed."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    judged = [{"what": b.what, "measured": b.measured, "at_most": b.at_most, "holds": b.holds} for b in bars]
    content = {"benchmark": name, "machine": machine(), "bars": judged, **results}
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(content, indent=2) + "\n")
    if bars:
        show("bars", ["what", "measured", "at most", "goal", ""], [_bar_row(bar) for bar in bars])
    console.print(f"[dim]{path.relative_to(ROOT)}; load average {os.getloadavg()[0]:.1f}[/]")
    return 0 if all(bar.holds for bar in bars) else 1


def _bar_row(bar: Bar) -> list[str]:
    verdict = "[green]holds[/]" if bar.holds else "[bold red]missed[/]"
    goal = "" if bar.goal is None else f"{bar.goal:g} {bar.unit}"
    return [bar.what, f"{bar.measured:.3g} {bar.unit}", f"{bar.at_most:g} {bar.unit}", goal, verdict]


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table. Every column but the first is for numbers."""
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, str) else f"{cell:,.4g}" for cell in row))
    console.print(table)


def machine() -> dict[str, Any]:
    """Return where and when this was measured, and the load of the machine."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg(),
    }


@dataclass(frozen=True, slots=True)
class Cpu:
    """The CPU time of an action, and how much slower than usual the machine was at that time."""

    ms: float
    slowness: float

    @property
    def calm_ms(self) -> float:
        """The CPU time that the action would have taken on our build machine, were that machine idle."""
        return self.ms / self.slowness


def cpu_of(action: Callable[[], object]) -> Cpu:
    """Measure the user and system time of this process during an action.

    Another program on the same core can double it. So reference work is measured before and after.
    """
    gc.collect()
    before = _cpu_ms(_reference_work)
    spent = _cpu_ms(action)
    return Cpu(spent, (before + _cpu_ms(_reference_work)) / 2 / CALM_REFERENCE_MS)


def _cpu_ms(action: Callable[[], object]) -> float:
    began = time.process_time_ns()
    action()
    return (time.process_time_ns() - began) / 1e6


def _reference_work() -> None:
    """Do the same kind of work as our code: records, dictionaries, JSON, hashes."""
    bar = Bar("reference", 0, 1)
    item = {f"field_{number}": {"S": "x" * number} for number in range(25)}
    for number in range(100):
        bar = replace(bar, measured=number)
        text = json.dumps({name: dict(value) for name, value in item.items()})
        hmac.new(b"key", text.encode(), hashlib.sha256).hexdigest()
        sum(len(value["S"]) for value in json.loads(text).values())


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of the values does not exceed, NaN when there are no values."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else float("nan")


def spread(values: Sequence[float]) -> float:
    """Return the noise of a measurement: half the distance between the quartiles, as a share of the median."""
    return (quantile(values, 0.75) - quantile(values, 0.25)) / 2 / statistics.median(values)


def one_off(at: int) -> JobRequest:
    """Return a reminder as a shop would submit it."""
    target = HttpTarget("https://api.example.com/v1/orders/123/remind")
    definition = Definition(target, payload={"order": 123, "user": "u-47"}, name="remind", tags={"app": "shop"})
    return JobRequest(definition, "f" * 64, Priority.MEDIUM, DEFAULT_POOL, at=at)


def recurring(number: int, first: int) -> JobRequest:
    """Return an hourly report whose next fire is `first`. Odd numbers use cron in a zone, even ones an interval."""
    definition = Definition(HttpTarget("https://api.example.com/v1/report"), payload={"kind": "daily"})
    if number % 2:
        minute = datetime.fromtimestamp(first / 1000, UTC).minute
        schedule = Schedule(CronSchedule(f"{minute} * * * *", "Europe/Berlin"))
    else:
        schedule = Schedule(every(3_600, first, start_at=first))
    return JobRequest(definition, "f" * 64, Priority.MEDIUM, DEFAULT_POOL, recurrence=Recurrence(schedule))
