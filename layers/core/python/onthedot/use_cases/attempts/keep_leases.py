"""Keep the leases of running attempts: extend them at every heartbeat, and stop an attempt that must not go on.

Workers on Lambda and pull workers follow this one rule. They differ in how they extend a lease, which is a parameter.
"""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from onthedot.domain.errors import Unavailable
from onthedot.domain.runs.progress import LatestProgress, ProgressReport
from onthedot.stopping import Stop
from onthedot.use_cases.attempts.stop_reasons import CANCELLED, FENCED, NOT_EXTENDED

STOP_MARGIN_SECONDS: Final = 5.0
"""A target is asked to stop this long before the end of a lease that could not be extended."""
AT_ONCE: Final = 8
"""Number of leases that one heartbeat extends side by side."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LeaseExtended:
    """The reply to an extension that was written."""

    lease_end: float
    """The new end of the lease, in seconds of the worker's own clock."""
    cancel_requested: bool = False


@dataclass(frozen=True, slots=True)
class Fenced:
    """The reply for an attempt that does not own its run any more: it ended, was lost, or another one has begun."""

    why: str


@dataclass(slots=True, eq=False)
class RunningAttempt:
    """An attempt that runs in this process, and its lease."""

    lease_end: float
    """The end that was confirmed last, in seconds of the worker's own clock."""
    stop: Stop = field(default_factory=Stop)
    progress: LatestProgress = field(default_factory=LatestProgress)
    asked_to_stop_at: float | None = None
    fenced: bool = False

    def ask_to_stop(self, reason: str, now: float) -> None:
        """Ask the target to stop. The first reason counts."""
        if self.asked_to_stop_at is None:
            self.asked_to_stop_at = now
            self.stop.ask(reason)

    def ends_soon(self, now: float) -> bool:
        """Return whether the lease has ended or is about to end."""
        return self.lease_end - STOP_MARGIN_SECONDS <= now

    def apply(self, reply: LeaseExtended | Fenced, now: float) -> None:
        """Store the new end of the lease. Stop an attempt that was cancelled or that is fenced off."""
        if isinstance(reply, Fenced):
            self.fenced = True
            self.ask_to_stop(FENCED, now)
            return
        self.lease_end = reply.lease_end
        if reply.cancel_requested:
            self.ask_to_stop(CANCELLED, now)


AnyAttempt = TypeVar("AnyAttempt", bound=RunningAttempt)


class LeaseKeeper(Generic[AnyAttempt]):
    """The keeper of the leases of all attempts that run in this process."""

    def __init__(
        self,
        running: Callable[[], Sequence[AnyAttempt]],
        extend: Callable[[AnyAttempt, ProgressReport | None], LeaseExtended | Fenced],
        now: Callable[[], float],
    ) -> None:
        """Keep the leases of `running` by `extend`, which also gets a report that is not stored yet."""
        self._running = running
        self._extend = extend
        self._now = now
        self._failing = False

    def extend_all(self) -> bool:
        """Extend every lease once, side by side. Return whether each call was answered.

        A call that raises Unavailable stops no target: the lease outlasts a missed heartbeat. Other errors are raised.
        """
        attempts = [attempt for attempt in self._running() if not attempt.fenced]
        errors: list[Unavailable] = []
        if attempts:
            with ThreadPoolExecutor(min(len(attempts), AT_ONCE), "extend-lease") as pool:
                errors = [error for error in pool.map(self._extend_one, attempts) if error is not None]
        if errors and not self._failing:
            log.warning("lease_not_extended: %s", errors[0])
        self._failing = bool(errors)
        return not errors

    def _extend_one(self, attempt: AnyAttempt) -> Unavailable | None:
        report = attempt.progress.unsent
        try:
            reply = self._extend(attempt, report)
        except Unavailable as error:
            return error
        attempt.progress.mark_sent(report)
        attempt.apply(reply, self._now())
        return None

    def stop_expiring(self) -> None:
        """Ask each target whose lease is about to end to stop. This makes no call, so it cannot hang."""
        now = self._now()
        for attempt in self._running():
            if attempt.ends_soon(now):
                attempt.ask_to_stop(NOT_EXTENDED, now)
