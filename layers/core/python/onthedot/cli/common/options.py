"""Options that several commands share."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final

import click

from onthedot.cli.common.documents import Documents
from onthedot.cli.common.output import json_option
from onthedot.cli.where import api_options, options
from onthedot.client.options import JobFilter
from onthedot.core.choices import Priority

KINDS: Final = ("one-off", "recurring", "event")
PRIORITIES: Final = tuple(one.value for one in Priority)
RUN_STATUSES: Final = (
    *("WAITING", "PENDING", "DISPATCHED", "RUNNING", "RETRYING", "SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"),
    "PAUSED",
)
STATUSES: Final = (*RUN_STATUSES, "ACTIVE", "COMPLETED")
_NAMES: Final = ("name", "status", "kind", "priority", "tag", "workflow")

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


def on_api(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --url, --token and --json. The command gets the API that they name as `api`, and `as_json`."""

    @wraps(command)
    def called(*arguments: Any, url: str | None, token: str | None, **given: Any) -> Any:
        return command(*arguments, api=Documents(url, token), **given)

    return api_options(json_option(called))


def read_filters(given: Mapping[str, Any]) -> JobFilter:
    """Return the filters that were given. Raise click.UsageError for an empty one, as an unset variable gives it."""
    chosen: Any = {name: given[name] for name in _NAMES if given.get(name) is not None}
    if empty := [name for name, value in chosen.items() if not value]:
        raise click.UsageError(f"--{empty[0]} is empty; leave it out, or give a value")
    filters: JobFilter = chosen
    return filters
