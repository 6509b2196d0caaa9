"""A progress bar on stderr, which only people on a terminal see."""

import sys
from types import TracebackType
from typing import Final, Self

WIDTH: Final = 20


class Progress:
    """A bar of finished steps. It draws nothing unless stderr is a terminal."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._drawn = False

    def show(self, done: int, total: int) -> None:
        """Draw how many steps of how many are done."""
        if self._is_shown and total:
            filled = WIDTH * min(done, total) // total
            sys.stderr.write(f"\r{'━' * filled}{'╌' * (WIDTH - filled)} {done:,}/{total:,}\x1b[K")
            sys.stderr.flush()
            self._drawn = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            sys.stderr.write("\n")


def progress() -> Progress:
    """Return a new bar, for `with`."""
    return Progress()
