"""The clock that all decisions read."""

from typing import Protocol


class Clock(Protocol):
    """The source of time. Tests replace it by one that they move."""

    def now(self) -> int:
        """Return the present in epoch milliseconds."""
        ...

    def sleep_until(self, instant: int) -> None:
        """Sleep, and return at or after the instant, never before it."""
        ...
