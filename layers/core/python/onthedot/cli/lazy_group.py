"""A click group whose commands are imported when they are called, so that `--help` imports none of them."""

import errno
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final, TextIO

import click

from onthedot.cli.commands import Entry

_WRITING: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
"""Errors of a write to a place that takes nothing."""
_WITHOUT_OUTPUT: Final = frozenset({"serve", "worker"})
"""Commands that are not called for their output."""
NO_STDOUT: Final = "stdout is closed, so the result would be lost; send it to a file or to /dev/null. Nothing was done"
EXTRAS: Final = {
    "boto3": "aws",
    "urllib3": "aws",
    "botocore": "aws",
    "pydantic": "aws",
    "pydantic_core": "aws",
    "typing_extensions": "aws",
    "aws_lambda_powertools": "aws",
    "grpc": "grpc",
    "grpc_reflection": "grpc",
    "google": "grpc",
    "pytest": "testing",
    "uvicorn": "serve",
}
"""The extra of the distribution that brings each import package."""
TITLES: Final = {
    "aws": "the AWS packages",
    "grpc": "the gRPC packages",
    "serve": "the packages of a server",
    "testing": "the packages for tests",
}


class MissingExtra(click.ClickException):
    """A command needs packages that are not installed."""

    exit_code = 2

    def __init__(self, command: str, extra: str) -> None:
        super().__init__(f"{command} needs {TITLES[extra]}: pip install 'onthedot[{extra}]'")


class LazyGroup(click.Group):
    """A group of commands that are known by their entries in a table."""

    def __init__(self, *arguments: Any, sections: Mapping[str, Mapping[str, Entry]], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.sections = sections
        self.entries = {name: entry for section in sections.values() for name, entry in section.items()}

    def main(self, *arguments: Any, **options: Any) -> Any:
        try:
            return super().main(*arguments, **options)
        except OSError as error:
            if error.errno not in _WRITING or error.filename is not None:
                raise
            # The rest of the output goes nowhere, so that Python does not fail once more when it ends.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
            click.echo(f"Error: the output cannot be written: {error.strerror}", err=True)
            sys.exit(1)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - as click calls it
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        if cmd_name not in self.entries:
            return None
        module, name = self.entries[cmd_name].location.split(":")
        found = getattr(import_module(f"onthedot.cli.{module}"), name)
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.entries and not args[0].startswith("-"):
            from difflib import get_close_matches  # noqa: PLC0415 - for a mistyped name only

            near = "".join(f" Did you mean {name}?" for name in get_close_matches(args[0], self.entries, n=1))
            ctx.fail(f"there is no command {args[0]!r}.{near}")
        if _is_closed(sys.stdout) and args[0] not in _WITHOUT_OUTPUT:
            raise click.ClickException(NO_STDOUT)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        width = max(map(len, self.entries))
        for title, section in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), entry.summary) for name, entry in section.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Name the extra to install when one of its packages is missing."""
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as error:
            extra = EXTRAS.get((error.name or "").partition(".")[0])
            if extra is None:
                raise
            # The extra of a server has all that it needs.
            extra = "serve" if ctx.invoked_subcommand == "serve" else extra
            raise MissingExtra(f"onthedot {ctx.invoked_subcommand}", extra) from error


def _is_closed(stream: TextIO | None) -> bool:
    """Return whether the caller gave no such stream. Python has None for it then, although its types do not say so."""
    return stream is None
