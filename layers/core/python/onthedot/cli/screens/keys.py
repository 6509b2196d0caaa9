"""Keys of a terminal, one at a time, without an echo."""

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

UP, DOWN, ENTER, ESCAPE, BACKSPACE, END = "up", "down", "enter", "escape", "backspace", "end"
_SEQUENCES: Final = {b"[A": UP, b"OA": UP, b"[B": DOWN, b"OB": DOWN}
_SINGLE: Final = {b"\r": ENTER, b"\n": ENTER, b"\x7f": BACKSPACE, b"\x08": BACKSPACE, b"\x04": END}


def read_keys(data: bytes) -> list[str]:
    """Return the keys in bytes of a terminal: a character, or the name of another key. Others are left out."""
    found: list[str] = []
    while data:
        key, length = _first(data)
        if key:
            found.append(key)
        data = data[length:]
    return found


def _first(data: bytes) -> tuple[str | None, int]:
    """Return the first key and the number of its bytes."""
    if data[:1] in _SINGLE:
        return _SINGLE[data[:1]], 1
    if data[:1] != b"\x1b":
        length = next((size for size in range(1, 5) if _is_text(data[:size])), 1)
        text = data[:length].decode(errors="ignore")
        return (text if text.isprintable() and text else None), length
    if data[1:2] not in (b"[", b"O"):
        return ESCAPE, 1
    end = next(
        (place for place in range(2, len(data)) if data[place : place + 1].isalpha() or data[place] == 126), None
    )
    stop = len(data) if end is None else end + 1
    return _SEQUENCES.get(data[1:stop]), stop


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


class Keyboard:
    """The keys of stdin."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def wait(self, seconds: float) -> list[str]:
        """Return the keys that were pressed, after the first one or after so many seconds."""
        ready, _, _ = select.select([self._descriptor], [], [], seconds)
        if not ready:
            return []
        data = os.read(self._descriptor, 1024)
        return read_keys(data) if data else [END]


@contextmanager
def keyboard() -> Iterator[Keyboard]:
    """Give the keys of the terminal at stdin. At the end the terminal is as it was."""
    import termios  # noqa: PLC0415 - only for a terminal
    import tty  # noqa: PLC0415 - as above

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield Keyboard(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
