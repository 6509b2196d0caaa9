"""A table for a terminal with one line for each row. It needs no further package, because loading one takes long."""

import shutil
import unicodedata
from collections.abc import Sequence
from typing import Final

import click

GAP: Final = 2
LEAST: Final = 6
"""A column is not made narrower than this."""
ROOM: Final = 12
"""A text is not made narrower than this for the sake of other columns."""
TEXTS: Final = frozenset({"WHY", "PROGRESS", "SCHEDULE", "CAPABILITIES", "HEAVIEST", "AFTER"})
"""Columns that are cut before those with names, which a user copies into the next command, and times."""
NOTHING: Final = "-"


def print_lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print the rows below the header. A column without a value is left out.

    The widest columns are cut until a row fits into one line, texts before names and times.
    """
    all_columns = list(zip(header, *rows, strict=True))
    columns = [column for column in all_columns if any(cell != NOTHING for cell in column[1:])] or all_columns
    needed = [max(map(width, column)) for column in columns]
    texts = [place for place, column in enumerate(columns) if column[0] in TEXTS]
    widths = fitted(needed, shutil.get_terminal_size().columns, texts)
    first, *others = zip(*columns, strict=True)
    click.secho(_line(first, widths), bold=True)
    for row in others:
        click.echo(_line(row, widths))


def fitted(widths: Sequence[int], room: int, texts: Sequence[int] = ()) -> list[int]:
    """Return widths of columns that fit into a line, each as wide as it needs or as the others leave room for.

    Those of `texts` are cut first.
    """
    found = list(widths)
    for places, least in ((texts, ROOM), (range(len(found)), LEAST)):
        over = sum(found) + GAP * (len(found) - 1) - room
        while over > 0 and places and max(found[place] for place in places) > least:
            found[max(places, key=lambda place: found[place])] -= 1
            over -= 1
    return found


def width(text: str) -> int:
    """Return the number of cells that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(one) else 1 + (unicodedata.east_asian_width(one) in "WF") for one in text)


def cut(text: str, cells: int) -> str:
    """Return the text, or its beginning and an ellipsis, in at most so many cells."""
    if width(text) <= cells:
        return text
    kept = text[:cells]
    while kept and width(kept) > cells - 1:
        kept = kept[:-1]
    return f"{kept}…"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    shown = [cut(text, most) for text, most in zip(cells, widths, strict=True)]
    padded = (text + " " * (most - width(text) + GAP) for text, most in zip(shown, widths, strict=True))
    return "".join(padded).rstrip()


def wrapped(text: str, cells: int) -> list[str]:
    """Return a text as lines of at most so many cells, broken between words where that is possible."""
    lines, room = [""], max(cells, LEAST)
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if width(joined) <= room:
            lines[-1] = joined
            continue
        lines += [word] if lines[-1] else []
        lines[-1] = lines[-1] or word
        while width(lines[-1]) > room:
            lines[-1:] = [lines[-1][:room], lines[-1][room:]]
    return lines
