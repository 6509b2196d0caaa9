"""Options that several commands share, and commands whose help text shows many options in sections."""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, Final, TypeVar, cast

import click

from onthedot.cli.documents import Documents
from onthedot.cli.output import json_option
from onthedot.client.options import JobFilter
from onthedot.client.place import TOKEN, URL
from onthedot.client.values import Status
from onthedot.core.choices import Priority

Command = TypeVar("Command", bound=Callable[..., Any])
KINDS: Final = ("one-off", "recurring", "event")
PRIORITIES: Final = tuple(one.value for one in Priority)
STATUSES: Final = tuple(one.value for one in Status if one is not Status.DELETED)
RUN_STATUSES: Final = tuple(one for one in STATUSES if one not in (Status.ACTIVE, Status.COMPLETED))
_NAMES: Final = ("name", "status", "kind", "priority", "tag", "workflow")
OTHER: Final = "Options"
"""The section of options that name none."""
WIDE: Final = {"max_content_width": 100}
"""The settings of a command whose help text may be wider than click's 80 columns."""


def options(*added: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Add several options, which `--help` shows in this order."""

    def add(command: Command) -> Command:
        for option in reversed(added):
            command = option(command)
        return command

    return add


api_options: Final = options(
    click.option("--url", metavar="URL", help=f"URL of the API.  [default: {URL}, or the local stack or server]"),
    click.option("--token", metavar="TOKEN", help=f"API token; setting {TOKEN} is safer.  [default: {TOKEN}]"),
)
"""Adds `--url` and `--token`, for `find_api`."""
filter_options: Final = options(
    click.option("--name", metavar="PREFIX", help="Only jobs whose name starts with this."),
    click.option("--status", type=click.Choice(STATUSES, case_sensitive=False), help="Only jobs with this status."),
    click.option("--kind", type=click.Choice(KINDS), help="Only jobs of this kind."),
    click.option("--priority", type=click.Choice(PRIORITIES, case_sensitive=False), help="Only jobs of this priority."),
    click.option("--tag", metavar="KEY[=VALUE]", help="Only jobs with this tag."),
    click.option("--workflow", metavar="ID", help="Only jobs of this workflow."),
)
"""Adds the filters of jobs, for `read_filters`."""
limit_option: Final = click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, help="List at most this many."
)


def with_api(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --url and --token. The command gets the API that they name as `api`."""

    @wraps(command)
    def called(*arguments: Any, url: str | None, token: str | None, **given: Any) -> Any:
        return command(*arguments, api=Documents(url, token), **given)

    return api_options(called)


def on_api(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --url, --token and --json. The command gets `api`, and `as_json`."""
    return with_api(json_option(command))


def read_filters(given: Mapping[str, Any]) -> JobFilter:
    """Raise click.UsageError for an empty one, as an unset variable gives it."""
    chosen: Any = {name: given[name] for name in _NAMES if given.get(name) is not None}
    if empty := [name for name, value in chosen.items() if not value]:
        raise click.UsageError(f"--{empty[0]} is empty; leave it out, or give a value")
    return cast(JobFilter, chosen)


# Sections of a help text


class SectionOption(click.Option):
    def __init__(self, *arguments: Any, section: str, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.section = section


class SectionedCommand(click.Command):
    """A command whose help text shows its options in sections, in the order of the first option of each."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = {
            title: [_row(option, ctx) for option in each] for title, each in sections_of(self.get_params(ctx)).items()
        }
        width = max(len(name) for section in rows.values() for name, _ in section)
        for title, section in rows.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in section])


def sections_of(parameters: Iterable[click.Parameter]) -> dict[str, list[click.Option]]:
    found: dict[str, list[click.Option]] = {}
    for option in parameters:
        if isinstance(option, click.Option) and not option.hidden:
            title = option.section if isinstance(option, SectionOption) else OTHER
            found.setdefault(title, []).append(option)
    return found


def _row(option: click.Option, ctx: click.Context) -> tuple[str, str]:
    return option.get_help_record(ctx) or (option.opts[0], "")
