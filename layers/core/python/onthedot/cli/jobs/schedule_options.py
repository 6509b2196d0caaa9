"""The options of `onthedot schedule`, and the request that they make."""

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from onthedot.cli.common.durations import Duration, read_duration
from onthedot.cli.common.when import read_when
from onthedot.client.requests import job_request

Command = TypeVar("Command", bound=Callable[..., Any])
PRIORITIES: Final = ("HIGH", "MEDIUM", "LOW")
_TIMES: Final = ("at", "start_at", "end_at")
_LISTS: Final = {"gate": "gates", "depends_on": "dependencies"}
_DOCUMENTS: Final = ("target", "on_event", "payload")
_OPTIONS: Final = (
    click.option("--in", "delay", type=Duration(), help="Once, after this time, such as 10m or 1h30m."),
    click.option("--at", metavar="WHEN", help='Once, such as "tomorrow 9:00", "fri 17:30" or RFC 3339.'),
    click.option("--cron", metavar="EXPRESSION", help="Again and again: five fields, @daily, or cron(…)."),
    click.option("--every", metavar="TIME", help="Again and again, such as 15m or rate(5 minutes)."),
    click.option("--on-event", metavar="JSON", help="For each event that matches this pattern."),
    click.option("--tz", "timezone", metavar="NAME", help="Time zone of --cron and --at.  [UTC, this machine's]"),
    click.option("--start-at", metavar="WHEN", help="No fire time before it."),
    click.option("--end-at", metavar="WHEN", help="No fire time after it."),
    click.option("--max-runs", type=int, help="End the job after so many runs."),
    click.option("--jitter", "jitter_seconds", type=Duration(whole=True), help="Start each run up to so much later."),
    click.option(
        "--overlap", type=click.Choice(["allow", "skip", "queue"]), help="If the run before has not ended.  [allow]"
    ),
    click.option("--http", "url_to_call", metavar="URL", help="Call this URL, with the payload as body."),
    click.option("--method", help="Method of --http.  [POST]"),
    click.option("--header", multiple=True, metavar="NAME:VALUE", help="Header of --http. May be repeated."),
    click.option("--python", "handler", metavar="NAME", help="Run this handler on a worker."),
    click.option("--shell", metavar="COMMAND", help="Run this program on a worker, without a shell's expansions."),
    click.option("--target", metavar="JSON", help="Any other target."),
    click.option("--payload", metavar="JSON|@FILE|-", help="JSON, a file with JSON, or - for stdin."),
    click.option("--name", help="Name for people."),
    click.option("--description", help="Text for people."),
    click.option("--tag", multiple=True, metavar="KEY=VALUE", help="Tag. May be repeated."),
    click.option(
        "--priority", type=click.Choice(PRIORITIES, case_sensitive=False), help="Which queue it waits in.  [MEDIUM]"
    ),
    click.option("--gate", multiple=True, metavar="NAME", help="Gate to pass. May be repeated."),
    click.option(
        "--start-within",
        "start_within_seconds",
        type=Duration(whole=True),
        help="Skip a run that could only start later than this.",
    ),
    click.option("--timeout", "timeout_seconds", type=Duration(whole=True), help="Most time of one attempt.  [60s]"),
    click.option("--max-retries", "retry", type=int, help="Retries after failed attempts.  [3]"),
    click.option("--capability", multiple=True, metavar="NAME", help="The worker must offer it. May be repeated."),
    click.option("--depends-on", multiple=True, metavar="JOB_ID", help="Wait for this job. May be repeated."),
    click.option("--idempotency-key", metavar="KEY", help="The same key and options again make no second job."),
)


def job_options(command: Command) -> Command:
    """Add the options of a new job to a command, for `read_job`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_job(options: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return the request that the options make. Raise click.UsageError, which names the option at fault."""
    given = {name: value for name, value in options.items() if value not in (None, ())}
    handler, url = given.pop("handler", None), given.pop("url_to_call", None)
    if sum(one is not None for one in (handler, url, given.get("shell"), given.get("target"))) != 1:
        raise click.UsageError("say what the job runs: one of --http, --python, --shell and --target")
    if url is None and (wrong := given.keys() & {"method", "header"}):
        raise click.UsageError(f"--{min(wrong)} works only with --http")
    fields = _renamed(given, now)
    payload = fields.pop("payload", None)
    return job_request(handler, payload, **({} if url is None else {"url": url}), **fields)


def _renamed(given: dict[str, Any], now: datetime) -> dict[str, Any]:
    """Return the options as the client takes them."""
    fields = {name: value for name, value in given.items() if name not in _READERS and name not in _TIMES}
    for name in _TIMES:
        if name in given:
            zone = given.get("timezone") if name == "at" else None
            fields[name] = _read(name, partial(read_when, timezone=zone, now=now), given[name])
    for name, (field, read) in _READERS.items():
        if name in given:
            fields[field] = _read(name, read, given[name])
    return fields


def _read(name: str, read: Callable[[Any], Any], value: Any) -> Any:
    try:
        return read(value)
    except (ValueError, OSError, OverflowError) as error:
        raise click.UsageError(f"--{name.replace('_', '-')}: {error}") from error


def read_json(text: str) -> Any:
    """Return the JSON of a text, of a file after @, or of stdin for -. Raise ValueError or OSError."""
    if text == "-":
        text = sys.stdin.read()
    elif text.startswith("@"):
        text = Path(text[1:]).expanduser().read_text(encoding="utf-8")
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"is no JSON: {error}; quote a text twice, such as '\"text\"'") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def _every(text: str) -> Any:
    """Return the seconds of a duration, and a rate as it is."""
    if "(" in text:
        return text
    seconds = read_duration(text)
    if not isinstance(seconds, int):
        raise ValueError(f"{text!r} is not whole seconds")  # noqa: TRY004 - a wrong value of the user
    return seconds


def _pairs(separator: str) -> Callable[[Sequence[str]], dict[str, str]]:
    def read(texts: Sequence[str]) -> dict[str, str]:
        parts = [text.partition(separator) for text in texts]
        if wrong := [text for text, (_, found, _) in zip(texts, parts, strict=True) if not found]:
            raise ValueError(f"{wrong[0]!r} has no {separator!r}; write NAME{separator}VALUE")
        return {name.strip(): value.strip() for name, _, value in parts}

    return read


_READERS: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    **{name: (name, read_json) for name in _DOCUMENTS},
    **{name: (field, list) for name, field in _LISTS.items()},
    "every": ("every", _every),
    "header": ("headers", _pairs(":")),
    "tag": ("tags", _pairs("=")),
    "shell": ("target", lambda text: {"type": "shell", "argv": shlex.split(text)}),
    "capability": ("requirements", lambda names: {"capabilities": list(names)}),
}
"""The field of each option that needs reading, and the function that reads it."""
