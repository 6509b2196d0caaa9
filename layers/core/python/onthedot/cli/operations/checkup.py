"""The checks of `onthedot doctor`. Each is a call of the API and a finding about its answer."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
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
from onthedot.client import requests

SLOW_SECONDS: Final = 1.0
"""A call that takes longer is worth a look."""
CLOCK_SECONDS: Final = 2.0
"""A machine whose clock differs by more gives wrong times to commands, and its workers start runs too early or late."""
HOUR: Final = 3_600.0
OLD_SECONDS: Final = 300
"""A message that waits longer is late by any measure."""
DESERTED_SECONDS: Final = 30
"""A message of a pool without a worker waits for one. A worker that restarts needs less."""
NO_STACK: Final = """onthedot serve            starts one in this folder, without AWS
  onthedot up               starts the local AWS, with all stacks
  ONTHEDOT_URL=… ONTHEDOT_TOKEN=… onthedot doctor      checks another one"""
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
        health = api.ask(requests.health())
    except click.ClickException as error:
        advice = "onthedot serve" if api.place.is_local else "check the URL and the network"
        yield Finding("api", "wrong", error.format_message(), advice)
        return
    seconds = time.monotonic() - started
    yield answer_time(seconds)
    yield ticks(health)
    yield clock(health, before, seconds)
    yield from _each(
        ("stage", lambda: [stage(api)]),
        ("queues", lambda: queues(api)),
        ("dead_letters", lambda: [dead_letters(api)]),
        ("workers", lambda: [workers(api)]),
    )


def no_stack(error: click.UsageError) -> Finding:
    """Return the finding about a machine on which no API is known."""
    return Finding("stack", "wrong", error.format_message(), NO_STACK)


def _each(*checks: tuple[str, Callable[[], Sequence[Finding]]]) -> Iterator[Finding]:
    """Yield the findings of each check. A call that fails is a finding too, and stops no other check."""
    for name, check in checks:
        try:
            yield from check()
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
        return Finding("ticks", "wrong", f"the scheduler is late: {last}", "Runbook: docs/operations.md#ticks")
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


def stage(api: Documents) -> Finding:
    """Return whether the stage is open. One that is frozen or imports data starts nothing."""
    overview = api.ask(requests.overview())
    for one in overview.get("hold_ups") or ():
        if one["code"] == "stage_closed":
            return Finding("stage", "wrong", printable(str(one["message"])), "See docs/moving.md")
    if "stage_state" in (overview.get("unknown") or ()):
        return Finding("stage", "notice", "whether the stage is open is not known now")
    return Finding("stage", "ok", "the stage is open")


def queues(api: Documents) -> Sequence[Finding]:
    """Return the queues whose oldest message waits too long, or in which runs wait and no worker asks for them."""
    found = api.ask(requests.queues())["queues"]
    pulled = any(one.get("kind") == "pull" and one.get("waiting") for one in found)
    alive = _active(api.ask(requests.workers(None))["workers"]) if pulled else set()
    wrong = [finding for one in found if (finding := _queue(one, alive)) is not None]
    return wrong or [Finding("queues", "ok", "no queue waits too long")]


def _queue(queue: Mapping[str, Any], alive: Set[str]) -> Finding | None:
    pool, priority = printable(str(queue["pool"])), queue.get("priority")
    name = pool if priority is None else f"{pool}-{str(priority).lower()}"
    if queue.get("error"):
        return Finding("queues", "notice", f"queue {name}: {printable(str(queue['error']))}")
    age, waiting = queue.get("oldest_age_seconds") or 0, queue.get("waiting") or 0
    is_deserted = queue.get("kind") == "pull" and waiting > 0 and queue["pool"] not in alive
    if age <= (DESERTED_SECONDS if is_deserted else OLD_SECONDS):
        return None
    message = f"queue {name}: oldest message waits {in_words(age)}; {waiting:,} wait"
    if is_deserted:
        message += f"; 0 workers in pool {pool}"
    start = f"Start one: onthedot worker --pool {pool}      " if is_deserted else ""
    return Finding("queues", "wrong", message, f"{start}Runbook: docs/operations.md#backlog")


def _active(workers: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the pools that have a worker."""
    return {str(one["pool"]) for one in workers if one["status"] == "ACTIVE"}


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
    found = api.ask(requests.workers(None))["workers"]
    active = sum(one["status"] == "ACTIVE" for one in found)
    lost = [printable(str(one["worker_id"])) for one in found if one["status"] == "LOST"]
    if lost:
        return Finding(
            "workers",
            "notice",
            f"{_pull(len(lost))} lost: {', '.join(lost[:3])}; {active:,} active",
            "onthedot workers",
        )
    return Finding("workers", "ok", f"{_pull(active)} active" if active else "no pull worker, and none was lost")


def _pull(count: int) -> str:
    return "1 pull worker is" if count == 1 else f"{count:,} pull workers are"
