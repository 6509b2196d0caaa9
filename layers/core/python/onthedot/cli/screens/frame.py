"""Lines of a screen: sections laid out in a width and a height. It is pure."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from onthedot.cli.common.tables import cut, width, wrapped
from onthedot.cli.screens.sections import Row, Section

INDENT: Final = 2
TITLES: Final = 11
"""Cells of the titles beside facts."""


class Line(NamedTuple):
    """A line of a screen."""

    text: str
    colour: str | None = None
    bold: bool = False
    selected: bool = False


def shown_rows(sections: Sequence[Section], wanted: str) -> list[Row]:
    """Return the rows that can be chosen: those of lists that have the wanted text, in their order on the screen."""
    return [row for section in sections if section.is_list for row in _matching(section, wanted)]


def lines_of(sections: Sequence[Section], columns: int, wanted: str = "", selected: Row | None = None) -> list[Line]:
    """Return the lines of all sections, each cut to the width. A list in which no row has the text is left out."""
    found: list[Line] = []
    for section in sections:
        rows = _matching(section, wanted) if section.is_list else section.rows
        if rows:
            found += _section(Section(section.title, rows, section.is_list), columns, selected)
    return found


def fitted(lines: Sequence[Line], height: int) -> list[Line]:
    """Return as many lines as fit, with the chosen one among them. A mark says that there are more."""
    if len(lines) <= height:
        return list(lines)
    chosen = next((number for number, line in enumerate(lines) if line.selected), 0)
    first = max(0, min(chosen - height // 2, len(lines) - height))
    shown = list(lines[first : first + height])
    if first + height < len(lines):
        shown[-1] = Line(f"… {len(lines) - first - height + 1:,} more lines")
    return shown


def _matching(section: Section, wanted: str) -> list[Row]:
    return [row for row in section.rows if wanted.lower() in row.text.lower()]


def _section(section: Section, columns: int, selected: Row | None) -> list[Line]:
    if not section.is_list:
        if not section.title:
            return [line for row in section.rows for line in _sentence(row, columns)]
        titles = [section.title, *[" "] * len(section.rows)]
        return [_fact(title, row, columns) for title, row in zip(titles, section.rows, strict=False)]
    widths = _widths(section.rows)
    title = Line(cut(section.title, columns), bold=True)
    return [title, *(_row(row, widths, columns - INDENT, selected) for row in section.rows)]


def _fact(title: str, row: Row, columns: int) -> Line:
    """Return a fact beside the title of its section."""
    return Line(cut(title.ljust(TITLES) + row.text, columns), row.colour)


def _sentence(row: Row, columns: int) -> list[Line]:
    """Return the answer that stands before all sections. It is never cut."""
    return [Line(text, row.colour, bold=True) for text in wrapped(row.text, columns)]


def _widths(rows: Sequence[Row]) -> list[int]:
    count = max(len(row.cells) for row in rows)
    return [
        max((width(row.cells[place]) for row in rows if place < len(row.cells)), default=0) for place in range(count)
    ]


def _row(row: Row, widths: Sequence[int], columns: int, selected: Row | None) -> Line:
    most = max(columns // 3, 8)
    cells = [cut(text, min(widths[place], most)) for place, text in enumerate(row.cells[:-1])]
    padded = [text + " " * (min(widths[place], most) - width(text)) for place, text in enumerate(cells)]
    is_selected = row is selected
    mark = "› " if is_selected else " " * INDENT
    return Line(mark + cut("  ".join([*padded, row.cells[-1]]), columns), row.colour, selected=is_selected)
