"""Limits and their use as commands print them: a table on a terminal, columns with tabs in a pipe."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

from onthedot.cli.common.tables import print_lines
from onthedot.cli.text import printable, short
from onthedot.domain.gates.limits import MOST_BURST, MOST_IN_FLIGHT, MOST_PER_SECOND

USE_COLUMNS: Final = ("IN FLIGHT", "PER SECOND", "WAITING", "OLDEST", "STATE")

in_flight_option = click.option(
    "--in-flight", type=click.IntRange(0, MOST_IN_FLIGHT), help="Most attempts that run at a time. 0 stops all."
)
per_second_option = click.option(
    "--per-second", type=click.FloatRange(0, MOST_PER_SECOND), help="Most starts a second. 0 stops all."
)
burst_option = click.option(
    "--burst", type=click.IntRange(1, MOST_BURST), help="Starts at once after a quiet time, with --per-second.  [1]"
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the API's answer; a list as JSON lines.")


def use_row(shown: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns of limits and their use. A number that cannot be read now is a question mark."""
    in_use, limit = _number(shown.get("in_use")), shown.get("in_flight")
    rate, burst = shown.get("per_second"), shown.get("burst")
    oldest = shown.get("oldest_waiting_seconds")
    return (
        in_use if limit is None else f"{in_use} of {limit:,}",
        "-" if rate is None else f"{rate:g}" + ("" if burst is None else f", burst {burst:,}"),
        _number(shown.get("waiting")) + ("+" if shown.get("waiting_is_more") else ""),
        "-" if oldest is None else f"{oldest:,.1f} s",
        state_of(shown),
    )


def state_of(shown: Mapping[str, Any]) -> str:
    """Return whether limits let anything start."""
    if shown.get("paused"):
        return "paused"
    return "stopped" if 0 in (shown.get("in_flight"), shown.get("per_second")) else "open"


def limits_text(shown: Mapping[str, Any]) -> str:
    """Return limits as a part of a sentence."""
    parts = []
    if shown.get("in_flight") is not None:
        parts.append(f"{shown['in_flight']:,} at a time")
    if shown.get("per_second") is not None:
        parts.append(f"{shown['per_second']:g} a second, burst {shown.get('burst') or 1:,}")
    state = state_of(shown)
    return ", ".join([*(parts or ["no limit"]), *([] if state == "open" else [state])])


def print_rows(header: Sequence[str], rows: Sequence[Sequence[str]], otherwise: str) -> None:
    """Print rows below a header, each on one line. Without rows, print a sentence to stderr.

    On a terminal the longest cells are cut. A pipe gets them with tabs.
    """
    if not rows:
        click.echo(otherwise, err=True)
        return
    shown = [[short(printable(cell)) for cell in row] for row in rows]
    if is_for_people():
        print_lines(header, shown)
        return
    for line in (header, *shown):
        click.echo("\t".join(line))


def is_for_people() -> bool:
    """Return whether stdout is a terminal, and no pipe or file."""
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))


def print_next(*commands: str) -> None:
    """Print the next useful commands to stderr, dimmed."""
    click.secho("  " + "    ".join(commands), dim=True, err=True)


def _number(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"
