"""`onthedot top`: one live screen of a stage."""

import shutil
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import click

from onthedot.cli.common.documents import Documents, missing_job, print_document
from onthedot.cli.common.durations import Duration
from onthedot.cli.common.moments import this_moment
from onthedot.cli.jobs.story import clock_of, in_local_times, moments_of
from onthedot.cli.limit_text import json_option
from onthedot.cli.screens.control import View, lines, press
from onthedot.cli.screens.frame import Line
from onthedot.cli.screens.keys import keyboard
from onthedot.cli.screens.overview import print_sections
from onthedot.cli.screens.sections import sections_of
from onthedot.cli.text import printable
from onthedot.cli.where import api_options
from onthedot.client import requests

if TYPE_CHECKING:
    from rich.text import Text

KEY_SECONDS: Final = 0.25
"""The screen is drawn so often, so that its clock moves."""
LEAST_INTERVAL: Final = 0.5


@click.command()
@click.option("--interval", type=Duration(), default="2s", show_default=True, help="Time between two readings.")
@api_options
@json_option
def top(interval: float, url: str | None, token: str | None, as_json: bool) -> None:
    """Show the state of the stage on a live screen.

    q quits, / filters, the arrow keys choose a line, Enter explains it. Without a terminal it prints one frame.

    \b
    Example:
      onthedot top
    """
    api = Documents(url, token)
    if as_json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        document = api.ask(requests.overview())
        if as_json:
            print_document(document)
        else:
            print_sections(sections_of(document, this_moment()))
        return
    # A connection is for one thread.
    _live(Readings(api, Documents(url, token), max(interval, LEAST_INTERVAL)))


class Readings:
    """The latest overview, which a thread of its own reads, so that a slow API does not stop the keys."""

    def __init__(self, api: Documents, asked: Documents, interval: float) -> None:
        self._api = api
        self._asked = asked
        self._interval = interval
        self._stop = threading.Event()
        self._latest: tuple[Mapping[str, Any] | None, str | None] = (None, None)

    def start(self) -> None:
        """Begin to read."""
        threading.Thread(target=self._read, name="overview", daemon=True).start()

    def stop(self) -> None:
        """Read no more."""
        self._stop.set()

    def into(self, view: View) -> View:
        """Return the view with the latest reading."""
        document, failure = self._latest
        return replace(view, document=document, failure=failure)

    def explain(self, job_id: str) -> Sequence[str]:
        """Return the explanation of a job as sentences, or why there is none."""
        try:
            found = self._asked.ask(requests.explain(job_id), missing_job(job_id))
        except click.ClickException as error:
            return [error.format_message()]
        now = this_moment()
        reasons = [str(one["message"]) for one in found["reasons"]]
        story = [
            f"{clock_of(time, now)}  {message}" for time, message in moments_of(found.get("timeline") or (), reasons)
        ]
        would = [str(one.get("message", "")) for one in found.get("what_if") or []]
        title = printable(f"{found.get('name') or job_id} is {found['status']}")
        return [title, "", *(in_local_times(text, now) for text in (*reasons, *story, *would))]

    def _read(self) -> None:
        while not self._stop.is_set():
            try:
                self._latest = (self._api.ask(requests.overview()), None)
            except click.ClickException as error:
                self._latest = (self._latest[0], error.format_message())
            self._stop.wait(self._interval)


def _live(readings: Readings) -> None:
    """Draw the screen until the user ends it."""
    from rich.console import Console  # noqa: PLC0415 - only for a terminal
    from rich.live import Live  # noqa: PLC0415 - as above

    view = View()
    before: list[Line] = []
    readings.start()
    try:
        with keyboard() as keys, Live(console=Console(), screen=True, auto_refresh=False) as screen:
            while not view.is_over:
                view = readings.into(view)
                # Over a slow connection, only a change is worth its bytes.
                if (shown := _lines(view)) != before:
                    screen.update(drawn(shown), refresh=True)
                    before = shown
                for key in keys.wait(KEY_SECONDS):
                    view = press(view, key, this_moment())
                if view.explains is not None:
                    view = replace(view, explanation=readings.explain(view.explains), explains=None)
    except KeyboardInterrupt:
        pass
    finally:
        readings.stop()


def _lines(view: View) -> list[Line]:
    size = shutil.get_terminal_size()
    return lines(view, size.columns, size.lines, this_moment())


def drawn(shown: Sequence[Line]) -> "Text":
    """Return lines as rich draws them."""
    from rich.text import Text  # noqa: PLC0415 - only for a terminal

    whole = Text(no_wrap=True, overflow="crop", end="")
    for number, line in enumerate(shown):
        style = " ".join(filter(None, (line.colour, "bold" if line.bold else "", "reverse" if line.selected else "")))
        whole.append(("\n" if number else "") + line.text, style=style or None)
    return whole
