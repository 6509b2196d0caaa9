"""A bar on stderr, which only people at a terminal see and which disappears at the end."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress


class Bar:
    """A bar of finished steps. Without a terminal it draws nothing."""

    def __init__(self, drawn: "Progress | None" = None) -> None:
        self._drawn = drawn
        self._task = None if drawn is None else drawn.add_task("", total=None)

    def show(self, done: int, total: int | None = None, text: str | None = None) -> None:
        """Show how many steps of how many are done, and a text beside them."""
        if self._drawn is not None and self._task is not None:
            self._drawn.update(self._task, completed=done, total=total, description=text)

    def say(self, text: str) -> None:
        """Change the text only."""
        if self._drawn is not None and self._task is not None:
            self._drawn.update(self._task, description=text)


@contextmanager
def progress(text: str = "") -> Iterator[Bar]:
    """Give a bar for the time of a block. rich is loaded for a terminal only: that takes a tenth of a second."""
    if not sys.stderr.isatty():
        yield Bar()
        return
    from rich.console import Console  # noqa: PLC0415 - see the docstring
    from rich.progress import (  # noqa: PLC0415 - see the docstring
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(20), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True) as drawn:
        bar = Bar(drawn)
        bar.say(text)
        yield bar
