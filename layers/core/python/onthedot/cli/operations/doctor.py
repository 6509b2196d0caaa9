"""`onthedot doctor`: check a stack from this machine, by calls of the API and findings about its answers."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final, Literal

import click

from onthedot.cli.documents import Documents
from onthedot.cli.operations.dead_letters import pages
from onthedot.cli.options import api_options
from onthedot.cli.output import counted, print_document, printable
from onthedot.cli.times import in_words, this_moment
from onthedot.client import requests
from onthedot.client.place import URL

SLOW_SECONDS: Final = 1.0
"""A call that takes longer is worth a look."""
CLOCK_SECONDS: Final = 2.0
"""A machine whose clock is off by more gives wrong times to commands, and its workers start runs too early or late."""
OLD_SECONDS: Final = 300
"""A message that waits longer is late by any measure."""
DESERTED_SECONDS: Final = 30
"""A message of a pool without a worker waits for one. A worker that restarts needs less."""
MAX_COUNTED: Final = 1_000
MARKS: Final = {"ok": ("✓", "green"), "notice": ("!", "yellow"), "wrong": ("✗", "red")}
NO_STACK: Final = """onthedot serve            starts one in this folder, without AWS
  onthedot up               starts the local AWS, with all stacks
  ONTHEDOT_URL=… ONTHEDOT_TOKEN=… onthedot doctor      checks another one"""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check, and the command or page that helps."""

    check: str
    state: Literal["ok", "notice", "wrong"]
    message: str
    advice: str = ""


@click.command()
@api_options
@click.option("--json", "as_json", is_flag=True, help="Print the findings as one JSON document.")
def doctor(url: str | None, token: str | None, as_json: bool) -> None:
    """Check the API, ticks, clock, queues, failures and workers.

    Exit code 1: something is wrong (✗). Notices (!) are worth a look, but do not change the exit code.

    \b
    Example:
      onthedot doctor
    """
    address, checks = _checks(url, token)
    found = []
    for finding in checks:
        found.append(finding)
        if as_json:
            continue
        mark, colour = MARKS[finding.state]
        click.echo(f"{click.style(mark, fg=colour)} {finding.message}")
        if finding.advice:
            click.secho(f"  {finding.advice}", dim=True, err=True)
    is_well = all(finding.state != "wrong" for finding in found)
    if as_json:
        print_document({"ok": is_well, "url": address, "findings": [asdict(finding) for finding in found]})
    if not is_well:
        raise click.exceptions.Exit(1)


def _checks(url: str | None, token: str | None) -> tuple[str | None, Iterable[Finding]]:
    """Return the URL of the API and the findings about it. On a machine without any, that is the finding."""
    try:
        api = Documents(url, token)
    except click.UsageError as error:
        if url is not None or os.environ.get(URL):
            raise
        return None, [Finding("stack", "wrong", error.format_message(), NO_STACK)]
    return api.place.url, findings(api)


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
    yield _ticks(health)
    yield _clock(health, before, seconds)
    checks: Sequence[tuple[str, Callable[[], Sequence[Finding]]]] = (
        ("stage", lambda: [_stage(api)]),
        ("queues", lambda: _queues(api)),
        ("dead_letters", lambda: [_dead_letters(api)]),
        ("workers", lambda: [_workers(api)]),
    )
    for name, check in checks:
        try:
            yield from check()
        except click.ClickException as error:
            # A call that fails is a finding too, and does not stop other checks.
            advice = "onthedot tokens create" if error.exit_code == 3 else ""
            yield Finding(name, "wrong", error.format_message(), advice)


def answer_time(seconds: float) -> Finding:
    milliseconds = f"{seconds * 1000:,.0f} ms"
    if seconds > SLOW_SECONDS:
        return Finding("api", "notice", f"API answers slowly ({milliseconds})")
    return Finding("api", "ok", f"API answers ({milliseconds})")


def _ticks(health: Mapping[str, Any]) -> Finding:
    age = health.get("tick_age_seconds")
    if health.get("status") == "late":
        last = "no tick is on record" if age is None else f"the last tick was {in_words(age)} ago"
        return Finding("ticks", "wrong", f"the scheduler is late: {last}", "Runbook: docs/operations.md#ticks")
    if age is None:
        return Finding("ticks", "ok", "the scheduler is starting: no tick yet")
    return Finding("ticks", "ok", f"last tick {in_words(age)} ago")


def _clock(health: Mapping[str, Any], before: datetime, seconds: float) -> Finding:
    """Compare the clock of this machine with the API's, which was read at some time during the call."""
    off = (datetime.fromisoformat(health["time"]) - before).total_seconds()
    difference = max(0.0, -off, off - seconds)
    if difference > CLOCK_SECONDS:
        way = "behind" if off > 0 else "ahead of"
        return Finding("clock", "wrong", f"this machine's clock is {in_words(difference)} {way} the API's", "use NTP")
    return Finding("clock", "ok", f"clock within {max(seconds, difference) * 1000:,.0f} ms of the API's")


def _stage(api: Documents) -> Finding:
    """Say whether the stage is open. One that is frozen or imports data starts nothing."""
    overview = api.ask(requests.overview())
    for one in overview.get("hold_ups") or ():
        if one["code"] == "stage_closed":
            return Finding("stage", "wrong", printable(str(one["message"])), "See docs/moving.md")
    if "stage_state" in (overview.get("unknown") or ()):
        return Finding("stage", "notice", "cannot tell now whether the stage is open")
    return Finding("stage", "ok", "the stage is open")


def _queues(api: Documents) -> Sequence[Finding]:
    """Find queues whose oldest message waits too long, or in which runs wait and no worker asks for them."""
    found = api.ask(requests.queues())["queues"]
    alive: set[str] = set()
    if any(one.get("kind") == "pull" and one.get("waiting") for one in found):
        workers = api.ask(requests.workers(None))["workers"]
        alive = {str(one["pool"]) for one in workers if one["status"] == "ACTIVE"}
    wrong = [finding for one in found if (finding := _queue(one, alive)) is not None]
    return wrong or [Finding("queues", "ok", "no queue is waiting too long")]


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


def _dead_letters(api: Documents) -> Finding:
    since = (this_moment() - timedelta(hours=1)).isoformat()
    count = sum(1 for _ in islice(pages(api, {"since": since}), MAX_COUNTED))
    if not count:
        return Finding("dead_letters", "ok", "no dead letters in the last hour")
    message = f"{'at least ' if count == MAX_COUNTED else ''}{counted(count, 'dead letter')} in the last hour"
    return Finding("dead_letters", "notice", message, "onthedot dead-letters")


def _workers(api: Documents) -> Finding:
    found = api.ask(requests.workers(None))["workers"]
    active = sum(one["status"] == "ACTIVE" for one in found)
    lost = [printable(str(one["worker_id"])) for one in found if one["status"] == "LOST"]
    if lost:
        message = f"lost {counted(len(lost), 'pull worker')}: {', '.join(lost[:3])}; {active:,} active"
        return Finding("workers", "notice", message, "onthedot workers")
    return Finding("workers", "ok", f"{counted(active, 'active pull worker')}, and none was lost")
