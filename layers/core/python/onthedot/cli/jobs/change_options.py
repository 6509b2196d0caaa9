"""The options of `onthedot change`: those of `onthedot schedule` that a change can have, and `--clear`."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import click

from onthedot.cli.jobs.job_options import OPTIONS, Command, for_the_client, given_options
from onthedot.jobs.spec import CHANGEABLE

CLEARED: Final[Mapping[str, Any]] = {
    **{field.name: None for field in CHANGEABLE if field.null},
    "payload": None,
    "tags": {},
    "requirements": {},
}
"""The fields that a change can remove from a job, with the value that removes each."""


class Cleared(click.Choice[str]):
    """A field that can be removed, also as options spell it: end-at."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name as the API spells it."""
        return super().convert(str(value).replace("-", "_"), param, ctx)


_CLEAR: Final = click.option(
    "--clear",
    multiple=True,
    type=Cleared(list(CLEARED)),
    metavar="FIELD",
    help=f"Remove a field: {', '.join(CLEARED)}. May be repeated.",
)


def change_options(command: Command) -> Command:
    """Add the options of a change to a command, for `read_change`."""
    command = _CLEAR(command)
    for option in reversed(OPTIONS):
        command = option.added(command, with_default=False) if option.in_change else command
    return command


def read_change(options: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return the options as `requests.change` takes them. Raise click.UsageError, which names the option at fault."""
    given = given_options(options)
    if not given:
        raise click.UsageError("say what changes: at least one option, such as --cron, --payload or --clear")
    cleared = {name: CLEARED[name] for name in given.pop("clear", ())}
    fields = for_the_client(given, now)
    if both := fields.keys() & cleared.keys():
        raise click.UsageError(f"--clear {min(both)} removes a field that another option sets; keep one of them")
    return {**fields, **cleared}
