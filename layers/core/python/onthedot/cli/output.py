"""What commands print: tables, JSON documents, bars, and the next useful commands.

stdout has nothing but data; notes go to stderr. A terminal gets words and one line a row, a pipe gets tabs and the
API's own values.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

import click
from rich.cells import cell_len, chop_cells, set_cell_size

from onthedot.cli.times import briefly, day_and_clock, read_moment, this_moment

if TYPE_CHECKING:
    from rich.progress import Progress

GAP: Final = 2
MIN_WIDTH: Final = 6
"""No column is cut below this."""
MIN_TEXT_WIDTH: Final = 12
"""No text is cut below this to make room for other columns."""
TEXTS: Final = frozenset({"WHY", "PROGRESS", "SCHEDULE", "CAPABILITIES", "HEAVIEST", "AFTER"})
"""Columns that are cut before times and names, which a user copies into the next command."""
NOTHING: Final = "-"
MOST_SHOWN: Final = 200
"""Characters of one value that people see. `--json` has all of them."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print the API's response; lists as JSON lines.")
document_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
result_option = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as one JSON document; progress goes to stderr."
)


def printable(text: str) -> str:
    """Escape the characters that could control a terminal."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def word(text: str) -> str:
    """Return a text of a user as a word of a command that we suggest: a shell reads nothing else in it."""
    return quote(printable(text))


def short(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}… ({len(text):,} characters)"


def titled(name: str | None, id_: str) -> str:
    return f"{printable(name)} ({printable(id_)})" if name else printable(id_)


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, such as "1 job" or "2,300 jobs"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


@contextmanager
def steps(*, as_json: bool) -> Iterator[None]:
    """With `as_json`, print everything in the block to stderr, so that stdout has only the document after it."""
    if not as_json:
        yield
        return
    with redirect_stdout(sys.stderr):
        yield


def is_for_people() -> bool:
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))


def print_document(document: Any) -> None:
    click.echo(json.dumps(document, ensure_ascii=False))


def print_unchanged(document: Any) -> None:
    """Print the answer of one call as the API wrote it."""
    click.echo(json.dumps(document, ensure_ascii=False, separators=(",", ":")))


def print_next(*commands: str) -> None:
    click.secho("  " + "    ".join(commands), dim=True, err=True)


class Cells:
    """Makes the cells of a table: words for people, the API's values for a pipe."""

    def __init__(self) -> None:
        self.now = this_moment()
        self.for_people = is_for_people()

    def time(self, text: Any) -> str:
        moment = read_moment(text)
        if moment is None:
            return NOTHING
        return day_and_clock(moment, self.now) if self.for_people else str(text)

    def seconds(self, seconds: float | None) -> str:
        if seconds is None:
            return NOTHING
        return briefly(seconds) if self.for_people else f"{seconds:,.3f} s"


def print_list(
    entries: Iterable[dict[str, Any]],
    header: Sequence[str],
    row: Callable[[dict[str, Any]], Sequence[str]],
    otherwise: str,
    *,
    as_json: bool,
    hidden: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Print entries as JSON lines or as rows, and return them. Without any, people get the sentence `otherwise`."""
    found = []
    for one in entries:
        found.append(one)
        if as_json:
            print_document(one)
    if not as_json:
        print_rows(header, [row(one) for one in found], otherwise, hidden)
    return found


def print_rows(
    header: Sequence[str], rows: Sequence[Sequence[str]], otherwise: str = "", hidden: Collection[str] = ()
) -> None:
    """Print rows below a header, one a line. Without rows, print the sentence `otherwise` to stderr.

    A terminal leaves out the columns in `hidden` and cuts the longest cells.
    """
    if not rows:
        click.echo(otherwise, err=True)
        return
    shown = [[short(printable(cell)) for cell in row] for row in rows]
    if not is_for_people():
        for line in (header, *shown):
            click.echo("\t".join(line))
        return
    places = [place for place, name in enumerate(header) if name not in hidden]
    print_lines([header[place] for place in places], [[row[place] for place in places] for row in shown])


def print_lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Fit rows into the terminal. A column without a value is left out."""
    all_columns = list(zip(header, *rows, strict=True))
    columns = [column for column in all_columns if any(cell != NOTHING for cell in column[1:])] or all_columns
    texts = [place for place, column in enumerate(columns) if column[0] in TEXTS]
    widths = fitted([max(map(cell_len, column)) for column in columns], shutil.get_terminal_size().columns, texts)
    first, *others = zip(*columns, strict=True)
    click.secho(line_of(first, widths), bold=True)
    for row in others:
        click.echo(line_of(row, widths))


def fitted(widths: Sequence[int], room: int, texts: Sequence[int] = ()) -> list[int]:
    """Cut the widest columns until they fit into a line, those of `texts` first."""
    found = list(widths)
    for places, least in ((texts, MIN_TEXT_WIDTH), (range(len(found)), MIN_WIDTH)):
        over = sum(found) + GAP * (len(found) - 1) - room
        while over > 0 and places and max(found[place] for place in places) > least:
            found[max(places, key=lambda place: found[place])] -= 1
            over -= 1
    return found


def line_of(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (set_cell_size(cut(text, most), most + GAP) for text, most in zip(cells, widths, strict=True))
    return "".join(padded).rstrip()


def cut(text: str, cells: int) -> str:
    return text if cell_len(text) <= cells else f"{set_cell_size(text, cells - 1).rstrip()}…"


def wrapped(text: str, cells: int) -> list[str]:
    """Break a text between words where that is possible."""
    lines, room = [""], max(cells, MIN_WIDTH)
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_len(joined) > room and lines[-1]:
            lines.append(word)
        else:
            lines[-1] = joined
        lines[-1:] = chop_cells(lines[-1], room) or [""]
    return lines


class Bar:
    """A bar of finished steps on stderr, which disappears at the end. Without a terminal it draws nothing."""

    def __init__(self, drawn: "Progress | None" = None) -> None:
        self._drawn = drawn
        self._task = None if drawn is None else drawn.add_task("", total=None)

    def show(self, done: int, total: int | None = None, text: str | None = None) -> None:
        self._update(completed=done, total=total, description=text)

    def say(self, text: str) -> None:
        self._update(description=text)

    def _update(self, **shown: Any) -> None:
        if self._drawn is not None and self._task is not None:
            self._drawn.update(self._task, **shown)


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
