"""Times in the past as people give them to commands: 12h for 12 hours ago, or a time."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import click

from onthedot.cli.common.durations import read_duration
from onthedot.cli.common.moments import this_moment
from onthedot.cli.common.when import read_when

LONGEST: Final = 3e9
"""Seconds, which reach back before the first job that there can be."""
_EPOCH: Final = re.compile(r"\d{9,}(\.\d+)?", re.ASCII)


class Past(click.ParamType[str]):
    """A time in the past: 12h for 12 hours ago, or a time. It is converted to a time as the API takes it."""

    name = "WHEN"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the time. Fail when the text is none."""
        text, now = str(value).strip(), this_moment()
        try:
            if _EPOCH.fullmatch(text):
                return text
            return (now - timedelta(seconds=min(read_duration(text), LONGEST))).isoformat()
        except ValueError:
            pass
        try:
            return str(read_when(text, None, now))
        except ValueError as error:
            self.fail(f"{error}, or 12h for 12 hours ago", param, ctx)


class PastMoment(NamedTuple):
    """A time in the past, and the words for it that the user wrote."""

    written: str
    at: datetime


class PastTime(click.ParamType[PastMoment]):
    """A time in the past, in the same words as for `Past`, for a command that compares times by itself."""

    name = "WHEN"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> PastMoment:
        """Return the time. Fail when the text is none, or has no offset."""
        text = Past().convert(value, param, ctx)
        try:
            at = datetime.fromtimestamp(float(text), UTC) if _EPOCH.fullmatch(text) else datetime.fromisoformat(text)
        except (ValueError, OverflowError, OSError) as error:
            self.fail(f"{value!r} is no time: {error}", param, ctx)
        if at.tzinfo is None:
            self.fail(f"{value!r} has no offset; write 2026-11-20T09:00:00Z, or 12h for 12 hours ago", param, ctx)
        return PastMoment(str(value), at)
