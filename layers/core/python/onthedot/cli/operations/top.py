"""`onthedot top`: one live screen of a stage."""

import os
import re
import select
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click

from onthedot.cli.documents import Documents
from onthedot.cli.jobs.get import clock_of, in_local_times, moments_of
from onthedot.cli.operations.overview import INDENT, Line, lines_of, print_overview, sections_of
from onthedot.cli.options import api_options
from onthedot.cli.output import cut, json_option, printable, wrapped
from onthedot.cli.times import Duration, age, this_moment
from onthedot.client import requests

if TYPE_CHECKING:
    from rich.text import Text

KEY_SECONDS: Final = 0.25
"""The screen is drawn this often, so that its clock moves."""
MIN_INTERVAL: Final = 0.5
HELP: Final = "q quit   / filter   ↑↓ select   enter explain"
MARGIN: Final = 3
"""Lines above and below the sections."""
UP, DOWN, ENTER, ESCAPE, BACKSPACE, END = "up", "down", "enter", "escape", "backspace", "end"
_NAMES: Final = {
    **{"\x1b[A": UP, "\x1bOA": UP, "\x1b[B": DOWN, "\x1bOB": DOWN, "\r": ENTER, "\n": ENTER, "\x1b": ESCAPE},
    **{"\x7f": BACKSPACE, "\x08": BACKSPACE, "\x04": END},
}
_KEY: Final = re.compile(r"\x1b[\[O][^A-Za-z~]*[A-Za-z~]?|.", re.DOTALL)


@click.command()
@click.option("--interval", type=Duration(), default="2s", show_default=True, help="How often to refresh the screen.")
@api_options
@json_option
def top(interval: float, url: str | None, token: str | None, as_json: bool) -> None:
    """Show the state of the stage on a live screen.

    Press q to quit, / to filter, the arrow keys to select a line, and Enter to explain it. Without a terminal, it
    prints one frame.

    \b
    Example:
      onthedot top
    """
    api = Documents(url, token)
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        print_overview(api, as_json=as_json)
        return
    # A connection is for one thread.
    _live(_Readings(api, max(interval, MIN_INTERVAL)), Documents(url, token))


@dataclass(slots=True)
class Screen:
    """What the screen shows, and what each key does to it."""

    document: Mapping[str, Any] | None = None
    failure: str | None = None
    """Why the latest call failed. Meanwhile the screen shows the answer before it."""
    wanted: str = ""
    """The text of the filter."""
    is_typing: bool = False
    place: int = 0
    """The number of the selected line, among those that can be selected."""
    explanation: Sequence[str] | None = None
    explains: str | None = None
    """The job whose explanation is to be read."""
    is_over: bool = False

    def press(self, key: str, now: datetime) -> None:
        if key == END:
            self.is_over = True
        elif self.is_typing:
            self._type(key)
        elif self.explanation is not None:
            self.explanation, self.is_over = None, key == "q"
        elif key == "q":
            self.is_over = True
        elif key in ("/", ESCAPE):
            self.is_typing, self.wanted, self.place = key == "/", "", 0
        else:
            self._choose(key, [line for line in self._body(200, now) if line.row is not None])

    def _type(self, key: str) -> None:
        if key == BACKSPACE:
            self.wanted = self.wanted[:-1]
        elif len(key) == 1:
            self.wanted += key
        elif key in (ENTER, ESCAPE):
            self.is_typing = False
            self.wanted = self.wanted if key == ENTER else ""
        self.place = 0

    def _choose(self, key: str, lines: Sequence[Line]) -> None:
        """Select another line, or explain the selected one. Lines may have vanished since the key before."""
        place = min(self.place, len(lines) - 1)
        if key in (UP, DOWN):
            self.place = max(0, min(place + (1 if key == DOWN else -1), len(lines) - 1))
        elif key == ENTER and lines and (row := lines[place].row) is not None:
            self.explains = row.job_id
            self.explanation = None if row.job_id else [row.text]

    def lines(self, columns: int, rows: int, now: datetime) -> list[tuple[Line, bool]]:
        """Return the lines of the screen, as many as fit, and whether each is selected."""
        body = self._body(columns, now)
        places = [number for number, line in enumerate(body) if line.row is not None]
        chosen = places[min(self.place, len(places) - 1)] if places else -1
        if places:
            body[chosen] = body[chosen]._replace(text="› " + body[chosen].text[INDENT:])
        height = max(rows - MARGIN, 1)
        first = max(0, min(chosen - height // 2, len(body) - height))
        shown = [(line, number == chosen) for number, line in enumerate(body)][first : first + height]
        if (left := len(body) - first - height) > 0:
            shown[-1] = (Line(f"… {left + 1:,} more lines"), False)
        head, foot = self._head(columns, now), Line(cut(self._foot(), columns), bold=self.is_typing)
        return [(head, False), *shown, (Line(""), False), (foot, False)]

    def _body(self, columns: int, now: datetime) -> list[Line]:
        if self.explanation is not None:
            return [Line(part) for text in self.explanation for part in wrapped(text, columns)]
        if self.document is None:
            return [Line("Waiting for the API …" if self.failure is None else "")]
        return lines_of(sections_of(self.document, now), columns, self.wanted)

    def _head(self, columns: int, now: datetime) -> Line:
        if self.failure is not None:
            return Line(cut(self.failure, columns), "red", bold=True)
        document = self.document or {}
        seconds = document.get("tick_age_seconds")
        names = [str(document[name]) for name in ("stage", "tenant") if document.get(name)]
        tick = "no tick yet" if seconds is None else f"last tick {age(seconds)} ago"
        parts = ["onthedot", *names, tick, f"{now.astimezone():%H:%M:%S}"]
        return Line(cut("   ".join(parts), columns), "red" if document.get("status") == "late" else None, bold=True)

    def _foot(self) -> str:
        if self.is_typing:
            return f"/{self.wanted}█"
        if self.explanation is not None:
            return "any key: back"
        return (f"filter: {self.wanted} (esc clears)   " if self.wanted else "") + HELP


class _Readings:
    """The latest overview, which a thread of its own reads, so that a slow API does not stop the keys."""

    def __init__(self, api: Documents, interval: float) -> None:
        self._api = api
        self._interval = interval
        self._over = threading.Event()
        self.latest: tuple[Mapping[str, Any] | None, str | None] = (None, None)

    def __enter__(self) -> "_Readings":
        threading.Thread(target=self._read, name="overview", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def _read(self) -> None:
        while not self._over.is_set():
            try:
                self.latest = (self._api.ask(requests.overview()), None)
            except click.ClickException as error:
                self.latest = (self.latest[0], error.format_message())
            self._over.wait(self._interval)


def _live(readings: _Readings, api: Documents) -> None:
    """Draw the screen until the user ends it."""
    from rich.console import Console  # noqa: PLC0415 - only for a terminal
    from rich.live import Live  # noqa: PLC0415 - as above

    screen, before = Screen(), list[tuple[Line, bool]]()
    with (
        suppress(KeyboardInterrupt),
        readings,
        _keyboard() as pressed,
        Live(console=Console(), screen=True, auto_refresh=False) as live,
    ):
        while not screen.is_over:
            screen.document, screen.failure = readings.latest
            size = shutil.get_terminal_size()
            # Over a slow connection, only a change is worth its bytes.
            if (shown := screen.lines(size.columns, size.lines, this_moment())) != before:
                live.update(_drawn(shown), refresh=True)
                before = shown
            for key in pressed():
                screen.press(key, this_moment())
            if screen.explains is not None:
                screen.explanation, screen.explains = _explained(api, screen.explains), None


def _explained(api: Documents, job_id: str) -> Sequence[str]:
    """As sentences, or why there is none."""
    try:
        found = api.ask(requests.explain(job_id), job=job_id)
    except click.ClickException as error:
        return [error.format_message()]
    now = this_moment()
    reasons = [str(one["message"]) for one in found["reasons"]]
    story = [f"{clock_of(time, now)}  {message}" for time, message in moments_of(found.get("timeline") or (), reasons)]
    would = [str(one.get("message", "")) for one in found.get("what_if") or []]
    title = printable(f"{found.get('name') or job_id} is {found['status']}")
    return [title, "", *(in_local_times(text, now) for text in (*reasons, *story, *would))]


def _drawn(shown: Sequence[tuple[Line, bool]]) -> "Text":
    from rich.text import Text  # noqa: PLC0415 - only for a terminal

    whole = Text(no_wrap=True, overflow="crop", end="")
    for number, (line, is_selected) in enumerate(shown):
        style = " ".join(filter(None, (line.colour, "bold" if line.bold else "", "reverse" if is_selected else "")))
        whole.append(("\n" if number else "") + line.text, style=style or None)
    return whole


@contextmanager
def _keyboard() -> Iterator[Callable[[], list[str]]]:
    """Give a function that waits for the next keys. At the end the terminal is as it was."""
    import termios  # noqa: PLC0415 - only for a terminal
    import tty  # noqa: PLC0415 - as above

    stdin = sys.stdin.fileno()

    def pressed() -> list[str]:
        if not select.select([stdin], [], [], KEY_SECONDS)[0]:
            return []
        data = os.read(stdin, 1024)
        return keys_in(data) if data else [END]

    before = termios.tcgetattr(stdin)
    tty.setcbreak(stdin)
    try:
        yield pressed
    finally:
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)


def keys_in(data: bytes) -> list[str]:
    """Return the keys in bytes of a terminal: a character, or the name of another key. Others are left out."""
    found = (_NAMES.get(one, one) for one in _KEY.findall(data.decode(errors="ignore")))
    return [key for key in found if key.isprintable()]
