"""The checks of `onthedot doctor`. Each is a call of the API and a finding about its answer."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Final, Literal

import click

from onthedot.cli.common.documents import Documents
from onthedot.cli.common.durations import in_words
from onthedot.cli.common.moments import this_moment
from onthedot.cli.operations.dead_letters import chosen
from onthedot.cli.text import printable
from onthedot.client import operations

SLOW_SECONDS: Final = 1.0
"""A call that takes longer is worth a look."""
CLOCK_SECONDS: Final = 2.0
"""A machine whose clock differs by more gives wrong times to commands, and its workers start runs too early or late."""
HOUR: Final = 3_600.0
MOST_COUNTED: Final = 1_000

State = Literal["ok", "notice", "wrong"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check, and the command or page that helps."""

    check: str
    state: State
    message: str
    advice: str = ""


def findings(api: Documents) -> Iterator[Finding]:
    """Yield the result of each check. Without an answer of the API there is only the first."""
    before, started = this_moment(), time.monotonic()
    try:
        health = api.ask(operations.health())
    except click.ClickException as error:
        advice = "onthedot serve" if api.place.is_local else "check the URL and the network"
        yield Finding("api", "wrong", error.format_message(), advice)
        return
    seconds = time.monotonic() - started
    yield answer_time(seconds)
    yield ticks(health)
    yield clock(health, before, seconds)
    yield from _each(("dead_letters", lambda: dead_letters(api)), ("workers", lambda: workers(api)))


def _each(*checks: tuple[str, Callable[[], Finding]]) -> Iterator[Finding]:
    """Yield the finding of each check. A call that fails is a finding too, and stops no other check."""
    for name, check in checks:
        try:
            yield check()
        except click.ClickException as error:
            yield Finding(
                name, "wrong", error.format_message(), "onthedot tokens create" if error.exit_code == 3 else ""
            )


def answer_time(seconds: float) -> Finding:
    """Return whether the API answers quickly."""
    milliseconds = f"{seconds * 1000:,.0f} ms"
    if seconds > SLOW_SECONDS:
        return Finding("api", "notice", f"API answers slowly ({milliseconds})")
    return Finding("api", "ok", f"API answers ({milliseconds})")


def ticks(health: Mapping[str, Any]) -> Finding:
    """Return whether the scheduler looks for due runs."""
    age = health.get("tick_age_seconds")
    if health.get("status") == "late":
        last = "no tick is known" if age is None else f"the last tick was {in_words(age)} ago"
        return Finding("ticks", "wrong", f"the scheduler is late: {last}", "docs/operations.md")
    if age is None:
        return Finding("ticks", "ok", "the scheduler is starting: no tick yet")
    return Finding("ticks", "ok", f"last tick {in_words(age)} ago")


def clock(health: Mapping[str, Any], before: datetime, seconds: float) -> Finding:
    """Return whether the clock of this machine agrees with the API's. The call itself makes it uncertain."""
    theirs = datetime.fromisoformat(health["time"])
    off = (theirs - before).total_seconds()
    # The API read its clock at some time during the call.
    difference = max(0.0, -off, off - seconds)
    if difference > CLOCK_SECONDS:
        way = "behind" if off > 0 else "ahead of"
        return Finding("clock", "wrong", f"this machine's clock is {in_words(difference)} {way} the API's", "use NTP")
    return Finding("clock", "ok", f"clock within {max(seconds, difference) * 1000:,.0f} ms of the API's")


def dead_letters(api: Documents) -> Finding:
    """Return whether executions failed for good in the last hour."""
    count = sum(1 for _ in islice(chosen(api, HOUR, None), MOST_COUNTED))
    if not count:
        return Finding("dead_letters", "ok", "no dead letter in the last hour")
    more = "+" if count == MOST_COUNTED else ""
    words = "dead letter" if count == 1 else "dead letters"
    return Finding("dead_letters", "notice", f"{count:,}{more} {words} in the last hour", "onthedot dead-letters")


def workers(api: Documents) -> Finding:
    """Return whether pull workers were lost."""
    found = api.ask(operations.workers(None))["workers"]
    active = sum(one["status"] == "ACTIVE" for one in found)
    lost = [printable(str(one["worker_id"])) for one in found if one["status"] == "LOST"]
    if lost:
        return Finding(
            "workers", "notice", f"{len(lost):,} lost, {active:,} active: {', '.join(lost[:3])}", "onthedot workers"
        )
    return Finding("workers", "ok", f"{active:,} pull workers are active")
