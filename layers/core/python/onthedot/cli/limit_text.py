"""Limits and their use as commands print them: a table on a terminal, columns with tabs in a pipe."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import click

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


def print_rows(header: Sequence[str], rows: Sequence[Sequence[str]], otherwise: str, *, one_line: bool = False) -> None:
    """Print rows below a header. Without rows, print a sentence to stderr.

    With `one_line` a row on a terminal is never broken: its longest cells are cut.
    """
    if not rows:
        click.echo(otherwise, err=True)
        return
    shown = [[short(printable(cell)) for cell in row] for row in rows]
    if not is_for_people():
        for line in (header, *shown):
            click.echo("\t".join(line))
        return
    _print_table(header, shown, one_line=one_line)


def is_for_people() -> bool:
    """Return whether stdout is a terminal, and no pipe or file."""
    # A command that prints a sentence or JSON does not wait until rich is loaded.
    from rich.console import Console  # noqa: PLC0415

    return Console().is_terminal


def _print_table(header: Sequence[str], shown: Sequence[Sequence[str]], *, one_line: bool) -> None:
    from rich import box  # noqa: PLC0415 - as above
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Column, Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    columns = (Column(name, no_wrap=one_line, overflow="ellipsis" if one_line else "fold") for name in header)
    table = Table(*columns, box=box.SIMPLE, padding=(0, 2, 0, 0) if one_line else (0, 1))
    for row in shown:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def print_next(*commands: str) -> None:
    """Print the next useful commands to stderr, dimmed."""
    click.secho("  " + "    ".join(commands), dim=True, err=True)


def _number(number: int | None) -> str:
    return "?" if number is None else f"{number:,}"
