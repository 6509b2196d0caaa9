"""Reports of a running attempt about how far it is: a fraction, a short text, or both."""

import math
from dataclasses import dataclass
from typing import Any, Final

from onthedot.targets.redaction import redacted

MAX_TEXT: Final = 200


@dataclass(frozen=True, slots=True)
class ProgressReport:
    fraction: float | None = None
    """From 0 to 1."""
    text: str | None = None
    at: int | None = None
    """When a heartbeat brought the report. None: it is not stored yet."""

    def as_stored(self, now: int) -> "ProgressReport":
        """Return the report as a heartbeat stores it now, without secrets: each reader of the run sees it."""
        return ProgressReport(self.fraction, None if self.text is None else redacted(self.text), now)


class LatestProgress:
    """The latest report of one running attempt, which replaces the one before.

    The thread that runs the attempt sets it, and the one that extends the lease reads it. Each uses one attribute, so
    neither needs a lock.
    """

    __slots__ = ("_latest", "_sent")

    def __init__(self) -> None:
        self._latest: ProgressReport | None = None
        self._sent: ProgressReport | None = None

    def report(self, report: ProgressReport) -> None:
        self._latest = report

    @property
    def latest(self) -> ProgressReport | None:
        return self._latest

    @property
    def unsent(self) -> ProgressReport | None:
        latest = self._latest
        return None if latest == self._sent else latest

    def mark_sent(self, report: ProgressReport | None) -> None:
        if report is not None:
            self._sent = report


def report_of(fraction: float | None, text: str | None) -> ProgressReport:
    """Return the report that a handler makes. A wrong value must not fail its work as long as it has the right type.

    A fraction outside of 0 to 1 becomes 0 or 1, one that is not a number becomes unknown, and a long text is cut. Raise
    TypeError for values of other types.
    """
    if fraction is not None and not _is_number(fraction):
        raise TypeError(f"the fraction of a progress must be a number from 0 to 1, not {type(fraction).__name__}")
    if text is not None and not isinstance(text, str):
        raise TypeError(f"the text of a progress must be a string, not {type(text).__name__}")
    if fraction is None or math.isnan(fraction):
        return ProgressReport(None, short_text(text))
    return ProgressReport(min(1.0, max(0.0, float(fraction))), short_text(text))


def short_text(text: str | None) -> str | None:
    """Return one printable line of at most MAX_TEXT characters. None: there is no text in it."""
    line = " ".join((text or "")[: MAX_TEXT * 4].split())
    return "".join(letter if letter.isprintable() else "?" for letter in line)[:MAX_TEXT] or None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
