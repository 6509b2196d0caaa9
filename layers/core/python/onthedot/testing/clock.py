"""The virtual clock as a test sees it."""

from dataclasses import dataclass
from datetime import UTC, datetime

from onthedot.testing.durations import Duration, milliseconds
from onthedot.testing.scheduler import VirtualScheduler


@dataclass(frozen=True, slots=True)
class KitClock:
    """The virtual clock. It stands still until the test moves it, and everything due on the way happens then."""

    _scheduler: VirtualScheduler

    @property
    def now(self) -> datetime:
        """The virtual time, in UTC."""
        return datetime.fromtimestamp(self._scheduler.clock.now() / 1000, UTC)

    def advance(self, duration: Duration) -> None:
        """Let time pass: `"1h"`, `"1h30m"`, seconds, or a timedelta. Everything due on the way runs at its time."""
        self._scheduler.let_pass(self._scheduler.clock.now() + milliseconds(duration))

    def advance_to(self, time: datetime) -> None:
        """Let time pass until this time, which must be aware and not before the present."""
        instant = instant_of(time)
        if instant < self._scheduler.clock.now():
            raise ValueError(f"{time.isoformat()} is before {self.now.isoformat()}; time only goes forward")
        self._scheduler.let_pass(instant)


def instant_of(time: datetime) -> int:
    """Return a time in epoch milliseconds. Raise ValueError when it has no zone."""
    if time.tzinfo is None:
        raise ValueError("give an aware datetime, such as datetime(2026, 3, 1, 12, tzinfo=UTC)")
    return round(time.timestamp() * 1000)
