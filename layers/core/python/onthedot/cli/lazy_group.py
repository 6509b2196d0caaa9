"""A click group whose commands are imported when they are called, so that `--help` imports none of them."""

import errno
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, TextIO

import click

from onthedot.cli.commands import Entry
from onthedot.cli.extras import missing_extra

_WRITING: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""Errors of a write to a place that takes nothing."""
_WITHOUT_OUTPUT: Final = frozenset({"serve", "worker"})
"""Commands whose output is not what they are called for."""
NO_STDOUT: Final = "stdout is closed, so the result would be lost; send it to a file or to /dev/null. Nothing was done"


class LazyGroup(click.Group):
    """A group of commands that are known by their entries in a table."""

    def __init__(self, *arguments: Any, sections: Mapping[str, Mapping[str, Entry]], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.sections = sections
        self.entries = {name: entry for section in sections.values() for name, entry in section.items()}

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run the command line. Say in one line that the output cannot be written."""
        try:
            return super().main(*arguments, **options)
        except OSError as error:
            if error.errno not in _WRITING or error.filename is not None:
                raise
            _drop_output()
            click.echo(f"Error: the output cannot be written: {error.strerror}", err=True)
            sys.exit(1)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        """Return the names in the order of the table."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        """Import the command. Return None when the table does not have it."""
        if cmd_name not in self.entries:
            return None
        module, name = self.entries[cmd_name].location.split(":")
        found = getattr(import_module(f"onthedot.cli.{module}"), name)
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command and its arguments. Suggest a command for a name that does not exist."""
        if args[0] not in self.entries and not args[0].startswith("-"):
            ctx.fail(f"there is no command {args[0]!r}.{self._suggestion(args[0])}")
        if _is_closed(sys.stdout) and args[0] not in _WITHOUT_OUTPUT:
            raise click.ClickException(NO_STDOUT)
        return super().resolve_command(ctx, args)

    def _suggestion(self, name: str) -> str:
        from difflib import get_close_matches  # noqa: PLC0415 - for a mistyped name only

        return "".join(f" Did you mean {close}?" for close in get_close_matches(name, self.entries, n=1))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        """Write one section after another from the table. Click itself would import every command."""
        width = max(map(len, self.entries))
        for title, section in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), entry.summary) for name, entry in section.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Name the extra to install when one of its packages is missing."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            missing = missing_extra(error, f"onthedot {ctx.invoked_subcommand}")
            if missing is None:
                raise
            raise missing from error


def _is_closed(stream: TextIO | None) -> bool:
    """Return whether the caller gave no such stream. Python has None for it then, although its types do not say so."""
    return stream is None


def _drop_output() -> None:
    """Send the rest of the output nowhere, so that Python does not fail once more when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
