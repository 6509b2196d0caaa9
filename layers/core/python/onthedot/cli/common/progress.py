"""A progress bar on stderr, which only people on a terminal see."""

import sys
from types import TracebackType
from typing import Final, Self

WIDTH: Final = 20


class Progress:
    """A bar of finished steps. It draws nothing unless stderr is a terminal."""

    def __init__(self, unit: str = "") -> None:
        self._unit = f" {unit}" if unit else ""
        self._is_shown = sys.stderr.isatty()
        self._drawn = False

    def show(self, done: int, total: int) -> None:
        """Draw how many steps of how many are done."""
        if self._is_shown and total:
            filled = WIDTH * min(done, total) // total
            sys.stderr.write(f"\r{'━' * filled}{'╌' * (WIDTH - filled)} {done:,}/{total:,}{self._unit}\x1b[K")
            sys.stderr.flush()
            self._drawn = True

    def hide(self) -> None:
        """Clear the line of the bar, so that something else can be printed there. `show` draws it again."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False

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
