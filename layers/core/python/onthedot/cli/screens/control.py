"""The state of the live screen, and what each key does to it. It is pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from onthedot.cli.common.tables import cut
from onthedot.cli.screens import keys
from onthedot.cli.screens.frame import Line, fitted, lines_of, shown_rows
from onthedot.cli.screens.numbers import short_seconds
from onthedot.cli.screens.sections import Row, Section, sections_of

HELP: Final = "q quit   / filter   ↑↓ select   enter explain"
_MARGIN: Final = 3
"""Lines above and below the sections."""


@dataclass(frozen=True, slots=True)
class View:
    """The state of the screen."""

    document: Mapping[str, Any] | None = None
    failure: str | None = None
    """Why the latest call failed. The screen shows the answer before it meanwhile."""
    wanted: str = ""
    """The text of the filter."""
    is_typing: bool = False
    place: int = 0
    """The number of the chosen row."""
    explanation: Sequence[str] | None = None
    explains: str | None = None
    """The job whose explanation is to be read."""
    is_over: bool = False

    def sections(self, now: datetime) -> list[Section]:
        """Return the sections of the latest answer."""
        return [] if self.document is None else sections_of(self.document, now)

    def chosen(self, sections: Sequence[Section]) -> Row | None:
        """Return the chosen row of these sections, or None when there is none."""
        rows = shown_rows(sections, self.wanted)
        return rows[min(self.place, len(rows) - 1)] if rows else None


def press(view: View, key: str, now: datetime) -> View:
    """Return the state after a key."""
    if key == keys.END:
        return replace(view, is_over=True)
    if view.is_typing:
        return _typed(view, key)
    if view.explanation is not None:
        return replace(view, explanation=None, is_over=key == "q")
    if key in (keys.UP, keys.DOWN):
        return _moved(view, 1 if key == keys.DOWN else -1, now)
    return _enter(view, now) if key == keys.ENTER else replace(view, **_CHANGES.get(key, {}))


_CHANGES: Final[Mapping[str, Mapping[str, Any]]] = {
    "q": {"is_over": True},
    "/": {"is_typing": True, "wanted": "", "place": 0},
    keys.ESCAPE: {"wanted": "", "place": 0},
}
"""The fields that a key sets, whatever the state is."""


def _moved(view: View, step: int, now: datetime) -> View:
    """Return the view with the next or the previous row chosen. Rows may have vanished since the key before."""
    last = len(shown_rows(view.sections(now), view.wanted)) - 1
    return replace(view, place=max(0, min(min(view.place, last) + step, last)))


def _typed(view: View, key: str) -> View:
    if key == keys.ENTER:
        return replace(view, is_typing=False)
    if key == keys.ESCAPE:
        return replace(view, is_typing=False, wanted="")
    if key == keys.BACKSPACE:
        return replace(view, wanted=view.wanted[:-1], place=0)
    return replace(view, wanted=view.wanted + key, place=0) if len(key) == 1 else view


def _enter(view: View, now: datetime) -> View:
    row = view.chosen(view.sections(now))
    if row is None:
        return view
    if row.job_id is None:
        return replace(view, explanation=[row.text])
    return replace(view, explains=row.job_id)


def lines(view: View, columns: int, rows: int, now: datetime) -> list[Line]:
    """Return the lines of the screen, as many as fit."""
    body = max(rows - _MARGIN, 1)
    if view.explanation is not None:
        shown = [Line(part) for text in view.explanation for part in _wrapped(text, columns)]
    elif view.document is None:
        shown = [Line("Waiting for the API …" if view.failure is None else "")]
    else:
        sections = view.sections(now)
        shown = lines_of(sections, columns, view.wanted, view.chosen(sections))
    return [_head(view, columns, now), *fitted(shown, body), Line(""), _foot(view, columns)]


def _head(view: View, columns: int, now: datetime) -> Line:
    if view.failure is not None:
        return Line(cut(view.failure, columns), "red", bold=True)
    document = view.document or {}
    age = document.get("tick_age_seconds")
    names = [str(document[name]) for name in ("stage", "tenant") if document.get(name)]
    tick = "no tick yet" if age is None else f"last tick {short_seconds(age)} ago"
    parts = ["onthedot", *names, tick, f"{now.astimezone():%H:%M:%S}"]
    return Line(cut("   ".join(parts), columns), "red" if document.get("status") == "late" else None, bold=True)


def _foot(view: View, columns: int) -> Line:
    if view.is_typing:
        return Line(cut(f"/{view.wanted}█", columns), bold=True)
    if view.explanation is not None:
        return Line("any key: back")
    shown = f"filter: {view.wanted} (esc clears)   " if view.wanted else ""
    return Line(cut(shown + HELP, columns))


def _wrapped(text: str, columns: int) -> list[str]:
    from textwrap import wrap  # noqa: PLC0415 - only for an explanation

    return wrap(text, columns) or [""]
