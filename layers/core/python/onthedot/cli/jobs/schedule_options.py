"""Read the options of `onthedot schedule` and `onthedot change`: the request that they make."""

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from onthedot.cli.common.durations import read_duration
from onthedot.cli.common.when import read_when
from onthedot.cli.jobs.job_options import OF_NEW_JOBS, OPTIONS, SWITCH, Command
from onthedot.client.requests import job_request

_TIMES: Final = ("at", "start_at", "end_at")
_LISTS: Final = {"gate": "gates", "depends_on": "dependencies"}
_WORK: Final = ("url_to_call", "handler", "shell", "target")
ONE_WORK: Final = "say what the job runs: one of --http, --python, --shell and --target"
_DOCUMENTS: Final = ("target", "on_event", "payload")
_PARTS: Final = {
    "dst_gap": ("dst", "gap"),
    "dst_overlap": ("dst", "overlap"),
    "misfire": ("misfire", "policy"),
    "misfire_grace": ("misfire", "grace_seconds"),
    "max_retries": ("retry", "max_retries"),
    "backoff": ("retry", "backoff_seconds"),
    "backoff_factor": ("retry", "factor"),
    "max_backoff": ("retry", "max_backoff_seconds"),
    "backoff_jitter": ("retry", "jitter"),
    "capability": ("requirements", "capabilities"),
    "cpu": ("requirements", "cpu"),
    "memory_mb": ("requirements", "memory_mb"),
    "storage_mb": ("requirements", "storage_mb"),
}
"""The options that say a part of a field, with the field and its part."""


def job_options(command: Command) -> Command:
    """Add the options of a new job to a command, for `read_job`."""
    for option in reversed((*OPTIONS, *OF_NEW_JOBS)):
        command = option.added(command)
    return command


def read_job(options: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return the request that the options make. Raise click.UsageError, which names the option at fault."""
    given = given_options(options)
    if not given.keys() & set(_WORK):
        raise click.UsageError(ONE_WORK)
    return job_request(**for_the_client(given, now))


def given_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that the user gave. Raise click.UsageError for works that do not go together."""
    given = {name: value for name, value in options.items() if value not in (None, ())}
    if len(given.keys() & set(_WORK)) > 1:
        raise click.UsageError(ONE_WORK)
    if "url_to_call" not in given and (wrong := given.keys() & {"method", "header"}):
        raise click.UsageError(f"--{min(wrong)} works only with --http")
    return given


def for_the_client(given: dict[str, Any], now: datetime) -> dict[str, Any]:
    """Return the options as the client takes them."""
    known = {*_READERS, *_TIMES, *_PARTS}
    fields = {name: value for name, value in given.items() if name not in known}
    for name in _TIMES:
        if name in given:
            zone = given.get("timezone") if name == "at" else None
            fields[name] = _read(name, partial(read_when, timezone=zone, now=now), given[name])
    for name, (field, read) in _READERS.items():
        if name in given:
            fields[field] = _read(name, read, given[name])
    for name, (field, part) in _PARTS.items():
        if name in given:
            fields.setdefault(field, {})[part] = _part(given[name])
    return fields


def _part(value: Any) -> Any:
    """Return a part of a field as JSON has it."""
    if isinstance(value, tuple):
        return list(value)
    return SWITCH.get(value, value) if isinstance(value, str) else value


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
    "url_to_call": ("url", str),
    "every": ("every", _every),
    "header": ("headers", _pairs(":")),
    "tag": ("tags", _pairs("=")),
    "shell": ("target", lambda text: {"type": "shell", "argv": shlex.split(text)}),
}
"""The field of each option that needs reading, and the function that reads it."""
