"""The calls about the state of a stage that the commands of a transfer share."""

import time
from collections.abc import Callable
from typing import Any, Final

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn

from onthedot.cli.common.documents import Documents
from onthedot.cli.text import printable

LONGEST_WAIT_SECONDS: Final = 1.0


def progress_bar() -> Progress:
    """Return a bar on stderr that disappears at the end."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


def stage_of(calls: Documents) -> Any:
    """Return the state of the stage."""
    return calls.get("/v1/stage")


def wait_until_settled(calls: Documents, stage: Any, show: Callable[[str], None]) -> Any:
    """Wait until all parts of the stage follow its state, and return it. Raise click.ClickException if it changed."""
    first = stage
    while (left := stage["settles_in_ms"]) > 0:
        show(f"the stage is {stage['mode']}; waiting {left / 1000:.0f} s until all its parts know")
        time.sleep(min(left / 1000, LONGEST_WAIT_SECONDS))
        stage = stage_of(calls)
        if (stage["mode"], stage["freeze_id"]) != (first["mode"], first["freeze_id"]):
            raise click.ClickException(f"the stage is {printable(stage['mode'])} now; another command has changed it")
    return stage
