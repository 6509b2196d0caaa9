"""Measure a user's test that simulates a year of 10,000 mixed schedules: `onthedot.testing` in one process.

The number of fires decides how long it takes, and not the idle time between them. So the mix follows from the bar:
about 89,000 fires in the year, with most schedules once, yearly or monthly. A year of 10,000 daily schedules would have
3,650,000. The result shows the fires and the cost of each.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from benchmarks.common import Bar, console, cpu_of, finish, show
from onthedot import job, job_request
from onthedot.client import ClientError
from onthedot.testing.kit import Kit, kit

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
YEAR: Final = timedelta(days=365)
SCHEDULES: Final = 10_000
HANDLER: Final = "year-benchmark"
ZONES: Final = ("UTC", "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Sydney")
MINUTES: Final = (0, 0, 0, 0, 15, 30, 30, 45, 5, 50)
"""People choose round minutes more often than others."""
WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of schedule: its share of 10,000, and the fires of one such schedule in a year."""

    name: str
    share: int
    yearly: float


MIX: Final = (
    Kind("once", 5_000, 1),
    Kind("yearly", 2_069, 1),
    Kind("quarterly", 500, 4),
    Kind("monthly", 2_000, 12),
    Kind("weekly", 350, 365 / 7),
    Kind("on weekdays", 35, 261),
    Kind("daily", 35, 365),
    Kind("every 12 hours", 10, 730),
    Kind("hourly", 1, 8_760),
)


@job(HANDLER)
def handle(payload: Any) -> None:
    """Do nothing: the scheduler is measured, not the handler."""


def schedules(count: int, days: int, seed: int = 1) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the kind and the options of each schedule, in the shares of the mix.

    Hours are 5 to 22, so that no fire time is one that a change of the clocks skips or repeats.
    """
    chance = random.Random(seed)  # noqa: S311 - the same mix in every run
    # The rare kinds first: of each there is one at least, however small the count.
    kinds = [kind.name for kind in reversed(MIX) for _ in range(-(-kind.share * count // SCHEDULES))]
    for name in kinds[:count]:
        yield name, _options(name, days, chance)


def _options(name: str, days: int, chance: random.Random) -> dict[str, Any]:
    minute, hour, day = chance.choice(MINUTES), chance.randrange(5, 23), chance.randrange(1, 29)
    month = chance.randrange(1, 13)
    expressions = {
        "yearly": f"{minute} {hour} {day} {month} *",
        "quarterly": f"{minute} {hour} {day} 1,4,7,10 *",
        "monthly": f"{minute} {hour} {day} * *",
        "weekly": f"{minute} {hour} * * {chance.choice(WEEKDAYS)}",
        "on weekdays": f"{minute} {hour} * * mon-fri",
        "daily": f"{minute} {hour} * * *",
        "hourly": f"{minute} * * * *",
    }
    if name in expressions:
        return {"cron": expressions[name], "timezone": chance.choice(ZONES)}
    if name == "every 12 hours":
        return {"every": timedelta(hours=12)}
    return {"delay": round(chance.uniform(60, days * 86_400 - 60), 3)}


def submit(opened: Kit, count: int, days: int) -> Counter[str]:
    """Schedule the mix over the client, and return how many there are of each kind. Raise the first refusal."""
    mixed = list(schedules(count, days))
    requests = (job_request(HANDLER, {"n": number}, **options) for number, (_, options) in enumerate(mixed))
    for outcome in opened.client.batch(requests):
        if isinstance(outcome, ClientError):
            raise outcome
    return Counter(name for name, _ in mixed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=SCHEDULES)
    parser.add_argument("--days", type=int, default=YEAR.days)
    parser.add_argument("--seconds", type=float, default=60, help="the bar")
    options = parser.parse_args()
    began = time.monotonic()
    with kit(START) as opened:
        submitted = cpu_of(lambda: console.print(dict(submit(opened, options.schedules, options.days))))
        passed = cpu_of(lambda: opened.clock.advance(timedelta(days=options.days)))
        seconds = time.monotonic() - began
        fires = len(opened.handled)
        results = {
            "schedules": options.schedules,
            "days": options.days,
            "fires": fires,
            "seconds": seconds,
            "submit_cpu_s": submitted.ms / 1000,
            "cpu_s": passed.ms / 1000,
            "cpu_us_a_fire": passed.ms * 1000 / max(fires, 1),
            "calm_cpu_us_a_fire": passed.calm_ms * 1000 / max(fires, 1),
            "slowness": passed.slowness,
        }
    show("a simulated year", ["what", "measured"], [[name, value] for name, value in results.items()])
    # On a machine that does nothing else, the CPU time is the time that a user waits.
    what = f"{options.schedules} schedules, {options.days} days"
    return finish("year", results, [Bar(what, (submitted.ms + passed.ms) / 1000, options.seconds, "s of CPU")])


if __name__ == "__main__":
    sys.exit(main())
