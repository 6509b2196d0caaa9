"""The options of `onthedot schedule` and `onthedot change`, made from the fields of a job, and what they say."""

import json
import math
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from onthedot.cli.options import OTHER, Command, SectionOption
from onthedot.cli.times import Duration, read_duration, read_when
from onthedot.client.requests import job_request
from onthedot.jobs import forms
from onthedot.jobs.spec import Change, Field, Has, fields_of

ONE_WORK: Final = "say what the job runs: one of --http, --python, --shell and --target"
_WORK: Final = ("http", "python", "shell", "target")
_SWITCH: Final = {"on": True, "off": False}


class Number(click.ParamType[float]):
    """A number, an int when it is whole. JSON has neither infinity nor NaN."""

    name = "NUMBER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return int(number) if number.is_integer() else number


class JobOption(NamedTuple):
    """An option that says a field of a job, or a part of one."""

    flag: str
    path: tuple[str, ...]
    """The field, and the part of it."""
    settings: Mapping[str, Any]
    section: str
    default: str = ""
    read: Callable[..., Any] | None = None
    """Makes the value of the field from that of click. None: they are the same."""
    in_change: bool = True

    @property
    def name(self) -> str:
        """The name of the value that click passes."""
        return self.flag.removeprefix("--").replace("-", "_")

    def added(self, command: Command, *, with_default: bool) -> Command:
        """Return the command with this option. A job that exists keeps its value, so its help names no default."""
        text = self.settings["help"] + (f"  [{self.default}]" if with_default and self.default else "")
        settings = {**self.settings, "help": text}
        return click.option(self.flag, cls=SectionOption, section=self.section, **settings)(command)


def job_options(command: Command) -> Command:
    """Add the options of a new job to a command, for `read_job`."""
    for option in reversed(OPTIONS):
        command = option.added(command, with_default=True)
    return command


def read_job(options: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Raise click.UsageError, which names the option at fault."""
    given = given_options(options)
    if not given.keys() & set(_WORK):
        raise click.UsageError(ONE_WORK)
    return job_request(**for_the_client(given, now))


def given_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Raise click.UsageError for targets that do not go together."""
    given = {name: value for name, value in options.items() if value not in (None, ())}
    if len(given.keys() & set(_WORK)) > 1:
        raise click.UsageError(ONE_WORK)
    if "http" not in given and (wrong := given.keys() & {"method", "header"}):
        raise click.UsageError(f"--{min(wrong)} works only with --http")
    return given


def for_the_client(given: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for option in OPTIONS:
        if option.name in given:
            value = _read(option, given[option.name], given.get("tz") if option.flag == "--at" else None, now)
            name, *parts = option.path
            if parts:
                fields.setdefault(name, {})[parts[0]] = value
            else:
                fields[name] = value
    return fields


def _read(option: JobOption, value: Any, timezone: str | None, now: datetime) -> Any:
    try:
        if option.read is read_when:
            return read_when(value, timezone, now)
        return value if option.read is None else option.read(value)
    except (ValueError, OSError, OverflowError) as error:
        raise click.UsageError(f"{option.flag}: {error}") from error


def read_json(text: str) -> Any:
    """Return the JSON of a text, of a file after @, or of stdin for -. Raise ValueError or OSError."""
    if text == "-":
        text = sys.stdin.read()
    elif text.startswith("@"):
        text = Path(text[1:]).expanduser().read_text(encoding="utf-8")
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}; quote a string twice, such as '\"text\"'") from None
    except RecursionError:
        raise ValueError("is nested too deeply") from None


def _every(text: str) -> Any:
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


def _shell(text: str) -> dict[str, Any]:
    return {"type": "shell", "argv": shlex.split(text)}


def _special(flag: str, name: str, text: str, **more: Any) -> JobOption:
    read = more.pop("read", None)
    return JobOption(flag, (name,), {"help": text, **more}, "What", read=read)


_TO_RUN: Final = (
    _special("--http", "url", "Call this URL, with the payload as body.", metavar="URL"),
    JobOption("--method", ("method",), {"help": "HTTP method for --http."}, "What", "POST"),
    _special(
        "--header",
        "headers",
        "A header for --http; may be repeated.",
        metavar="NAME:VALUE",
        multiple=True,
        read=_pairs(":"),
    ),
    _special("--python", "handler", "Run this handler on a worker.", metavar="NAME"),
    _special(
        "--shell",
        "target",
        "Run this program on a worker, without shell expansion.",
        metavar="COMMAND",
        read=_shell,
    ),
)
"""Short ways to say a target."""
_KINDS: Final[Mapping[type[forms.Form], Mapping[str, Any]]] = {
    forms.Whole: {"type": int},
    forms.Number: {"type": Number()},
    forms.Seconds: {"type": Duration(whole=True)},
    forms.Duration: {"type": Duration()},
    forms.Switch: {"type": click.Choice([*_SWITCH]), "read": _SWITCH.__getitem__},
    forms.Names: {"multiple": True, "read": list},
    forms.Tags: {"multiple": True, "read": _pairs("=")},
    forms.Instant: {"metavar": "WHEN", "read": read_when},
    forms.Json: {"metavar": "JSON", "read": read_json},
}


def _options() -> Iterator[JobOption]:
    for field in fields_of(Has.JOB):
        in_change = field.change is not Change.NONE
        if field.name == "target":
            yield from _TO_RUN
        if isinstance(field.form, forms.Parts):
            yield from (_option(part, (field.name, part.name), field.section, in_change) for part in field.form.parts)
        elif field.option != "":
            yield _option(field, (field.name,), field.section or OTHER, in_change)


def _option(field: Field, path: tuple[str, ...], section: str, in_change: bool) -> JobOption:
    flag, _, metavar = (field.option or f"--{field.name.replace('_', '-')}").partition(" ")
    settings = dict(_KINDS.get(type(field.form), {}))
    text = field.help or field.meaning[0].upper() + field.meaning[1:]
    if isinstance(field.form, forms.Choice):
        words = field.form.words
        settings["type"] = click.Choice(words, case_sensitive=words[0].islower())
        text += f": {', '.join(words[:-1])} or {words[-1]}" if metavar else ""
    if field.name == "every":
        settings = {"read": _every}
    read = settings.pop("read", None)
    settings |= {"help": f"{text}."} | ({"metavar": metavar} if metavar else {})
    return JobOption(flag, path, settings, section, _default(field), read, in_change)


def _default(field: Field) -> str:
    if field.default in (None, (), {}):
        return ""
    if isinstance(field.form, forms.Seconds | forms.Duration):
        minutes, seconds = divmod(field.default, 60)
        return f"{field.default:g}s" if seconds or minutes < 2 else f"{minutes:g}m"
    if isinstance(field.form, forms.Switch):
        return "on" if field.default else "off"
    return f"{field.default:g}" if isinstance(field.default, float) else f"{field.form.show(field.default)}"


OPTIONS: Final = tuple(_options())
