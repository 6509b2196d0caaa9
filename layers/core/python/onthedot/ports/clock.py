"""Time."""

from typing import Protocol


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> int:
        """The present, in epoch milliseconds."""
        ...

    def sleep_until(self, instant: int) -> None:
        """Return at or after the instant, never before it."""
        ...
