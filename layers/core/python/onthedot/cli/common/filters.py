"""The options that choose jobs by filters, and the filters that they make."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import click

from onthedot.client.options import JobFilter

Command = TypeVar("Command", bound=Callable[..., Any])
KINDS: Final = ("one-off", "recurring", "event")
PRIORITIES: Final = ("HIGH", "MEDIUM", "LOW")
STATUSES: Final = (
    *("WAITING", "PENDING", "DISPATCHED", "RUNNING", "RETRYING", "SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"),
    *("PAUSED", "ACTIVE", "COMPLETED"),
)
_OPTIONS: Final = (
    click.option("--name", metavar="PREFIX", help="Only those whose name begins so."),
    click.option("--status", type=click.Choice(STATUSES, case_sensitive=False), help="Only those with this status."),
    click.option("--kind", type=click.Choice(KINDS), help="Only those of this kind."),
    click.option(
        "--priority", type=click.Choice(PRIORITIES, case_sensitive=False), help="Only those of this priority."
    ),
    click.option("--tag", metavar="KEY[=VALUE]", help="Only those with this tag."),
    click.option("--workflow", metavar="ID", help="Only those of this workflow."),
)
_NAMES: Final = ("name", "status", "kind", "priority", "tag", "workflow")


def filter_options(command: Command) -> Command:
    """Add the options of filters to a command, for `read_filters`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_filters(options: Mapping[str, Any]) -> JobFilter:
    """Return the filters that were given. Raise click.UsageError for an empty one, as an unset variable gives it."""
    chosen: Any = {name: options[name] for name in _NAMES if options.get(name) is not None}
    if empty := [name for name, value in chosen.items() if not value]:
        raise click.UsageError(f"--{empty[0]} is empty; leave it out, or give a value")
    filters: JobFilter = chosen
    return filters
