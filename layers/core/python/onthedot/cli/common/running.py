"""How far an execution is that runs now, in words."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from onthedot.cli.common.durations import briefly
from onthedot.cli.common.moments import read_moment
from onthedot.cli.text import printable

_MS: Final = 1_000


def progress_in_words(execution: Mapping[str, Any], now: datetime) -> str:
    """Return the progress, the time that it has run and its deadline, or an empty text when it does not run now."""
    ran = execution.get("running_ms")
    if ran is None:
        return ""
    deadline = read_moment(execution.get("deadline"))
    parts = [
        reported(execution),
        f"running for {briefly(ran / _MS)}",
        "" if deadline is None else _until(deadline, now),
    ]
    return ", ".join(part for part in parts if part)


def reported(execution: Mapping[str, Any]) -> str:
    """Return what the run itself said last, such as "42 %, rows 420 of 1,000", or an empty text."""
    progress = execution.get("progress") or {}
    fraction, text = progress.get("fraction"), progress.get("text")
    shown = ["" if fraction is None else f"{fraction * 100:.0f} %", "" if text is None else printable(str(text))]
    return ", ".join(part for part in shown if part)


def _until(deadline: datetime, now: datetime) -> str:
    seconds = (deadline - now).total_seconds()
    return f"deadline in {briefly(seconds)}" if seconds > 0 else f"deadline passed {briefly(-seconds)} ago"
