"""A bar of the stacks that are deployed, below the output of `cdk`."""

import re
import sys
from collections.abc import Collection
from types import TracebackType
from typing import Final, Self

import click

from onthedot.cli.common.progress import Progress

_DONE: Final = re.compile(r"^\s*✅\s+(?P<stack>\S+)")
"""The line by which `cdk` says that a stack is deployed, or that it has no changes."""


class StacksBar:
    """Shows each line of `cdk`, and below it how many of the stacks are deployed."""

    def __init__(self, stacks: Collection[str]) -> None:
        self._left = set(stacks)
        self._total = len(self._left)
        self._bar = Progress("stacks")

    def said(self, line: str) -> None:
        """Show a line. Count the stack that it calls deployed."""
        self._bar.hide()
        click.echo(line)
        plain = click.unstyle(line)
        if (found := _DONE.match(plain)) is not None:
            self._left.discard(found["stack"])
        sys.stdout.flush()
        self._bar.show(self._total - len(self._left), self._total)

    def __enter__(self) -> Self:
        self._bar.show(0, self._total)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, trace)


def shows_a_bar(options: Collection[str]) -> bool:
    """Return whether people look on, and `cdk` asks them nothing: its question would be hidden until its line ends."""
    return sys.stderr.isatty() and not any(option.startswith("--require-approval") for option in options)
