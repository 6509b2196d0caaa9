"""A range of time in steps of equal length, and the counters of each step."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.domain.errors import InvalidRequest, Problem
from onthedot.domain.runs.records import Priority
from onthedot.domain.statistics.counters import Counters, added
from onthedot.domain.statistics.ends import MINUTE_MS

KEPT_DAYS: Final = 35
"""Days for which the counters of a minute are kept, and the longest range of one call."""
STEPS_SECONDS: Final = (60, 300, 3_600, 86_400)
FEW_STEPS: Final = 200
"""Most steps of a range whose step was not named."""
MOST_STEPS: Final = 1_500
HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class MinuteCounters:
    """The counters of one minute and priority."""

    minute: int
    """Counted from 1970."""
    priority: Priority
    counters: Counters


@dataclass(frozen=True, slots=True)
class StepRange:
    """A range of time. Its steps begin at multiples of their length since 1970, in UTC."""

    since: int
    """The beginning of the first step."""
    until: int
    step_ms: int

    @property
    def starts(self) -> range:
        """The beginning of each step."""
        return range(self.since, self.until, self.step_ms)

    @property
    def minutes(self) -> tuple[int, int]:
        """The first minute of the range, and the first one after it."""
        return self.since // MINUTE_MS, -(-self.until // MINUTE_MS)


def step_range(since: int | None, until: int | None, step_seconds: int | None, now: int) -> StepRange:
    """Return the range that a caller asks for. Raise InvalidRequest.

    Without `until` it ends with the present minute, and without `since` it begins an hour before its end. Without a
    step it gets the shortest one with which it has few steps.
    """
    until = (now // MINUTE_MS + 1) * MINUTE_MS if until is None else until
    since = max(0, until - HOUR_MS) if since is None else since
    if since >= until:
        raise InvalidRequest(Problem("from", "is not before the end of the range; give an earlier time, or a later to"))
    if until - since > KEPT_DAYS * _DAY_MS + MINUTE_MS:
        raise InvalidRequest(
            Problem("from", f"is more than {KEPT_DAYS} days before the end of the range; give a later time")
        )
    if step_seconds is None:
        found = next(one for one in STEPS_SECONDS if _number(since, until, one) <= FEW_STEPS)
    elif _number(since, until, step_seconds) > MOST_STEPS:
        found = next(one for one in STEPS_SECONDS if _number(since, until, one) <= MOST_STEPS)
        raise InvalidRequest(Problem("step", f"makes more than {MOST_STEPS:,} steps; give {found} or more"))
    else:
        found = step_seconds
    return StepRange(since // (found * 1000) * found * 1000, until, found * 1000)


def _number(since: int, until: int, step_seconds: int) -> int:
    step = step_seconds * 1000
    return -(-(until - since // step * step) // step)


def in_steps(found: Iterable[MinuteCounters], asked: StepRange) -> Sequence[tuple[int, Counters]]:
    """Return the beginning and the counters of each step, the oldest first. Steps without ends have zeros."""
    by_step: dict[int, list[Counters]] = {}
    for one in found:
        start = one.minute * MINUTE_MS // asked.step_ms * asked.step_ms
        by_step.setdefault(start, []).append(one.counters)
    return [(start, added(by_step.get(start, ()))) for start in asked.starts]
