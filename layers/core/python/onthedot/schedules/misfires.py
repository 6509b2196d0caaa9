"""The misfire policy: which missed fire times are run, which are skipped, and which have their outcome already."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.schedules.choices import MisfirePolicy
from onthedot.schedules.counting import count_fires, last_fire
from onthedot.schedules.schedule import Recurrence, Schedule, next_fire

CATCH_UP_PER_PASS: Final = 60
"""The most missed runs of one job in one pass: catching up must not crowd out runs that are due now."""


@dataclass(frozen=True, slots=True)
class Span:
    """Fire times from `first` to `last`, and their number."""

    first: int
    last: int
    count: int


@dataclass(frozen=True, slots=True)
class Settled:
    """The decision about the missed times of one job."""

    run: tuple[int, ...] = ()
    skip: tuple[Span, ...] = ()
    last: int | None = None
    """The last missed time that is settled. None when no time was missed."""
    more: bool = False
    """Whether some missed times are left for a later pass."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The fire times of a job that have a record already."""

    runs: frozenset[int] = frozenset()
    ranges: tuple[tuple[int, int], ...] = ()
    """First and last time of each skipped range."""

    def skipped_until(self, time: int) -> int | None:
        """Return the last time of a skipped range that covers this time, or None."""
        return max((last for first, last in self.ranges if first <= time <= last), default=None)


def settle_missed(recurrence: Recurrence, position: int, before: int, recorded: Recorded) -> Settled:
    """Apply the policy to the fire times with `position <= time < before`. The work does not depend on their number."""
    schedule = recurrence.schedule
    last = last_fire(schedule, position - 1, before) if position < before else None
    if last is None:
        return Settled()
    if recurrence.misfire.policy is MisfirePolicy.RUN_ALL:
        return _catch_up(schedule, position, before, recorded)
    latest = recurrence.misfire.policy is MisfirePolicy.RUN_LATEST and recorded.skipped_until(last) is None
    run = (last,) if latest else ()
    return Settled(run, spans_without(schedule, position, last, [*_taken(recorded), *((at, at) for at in run)]), last)


def spans_without(schedule: Schedule, first: int, last: int, taken: Iterable[tuple[int, int]]) -> tuple[Span, ...]:
    """Return the fire times from `first` to `last` that lie in none of these intervals, as few spans as possible."""
    spans = []
    for begin, end in sorted([*taken, (last + 1, last + 1)]):
        if (span := _span(schedule, first, min(begin, last + 1))) is not None:
            spans.append(span)
        first = max(first, end + 1)
    return tuple(spans)


def _span(schedule: Schedule, first: int, before: int) -> Span | None:
    begin, end = next_fire(schedule, first - 1), last_fire(schedule, first - 1, before)
    if begin is None or end is None:
        return None
    return Span(begin, end, count_fires(schedule, begin - 1, end + 1))


def _catch_up(schedule: Schedule, position: int, before: int, recorded: Recorded) -> Settled:
    run: list[int] = []
    last, at = position - 1, next_fire(schedule, position - 1)
    while at is not None and at < before and len(run) < CATCH_UP_PER_PASS:
        skipped_until = recorded.skipped_until(at)
        if skipped_until is None:
            run.append(at)
        last = at if skipped_until is None else skipped_until
        at = next_fire(schedule, last)
    return Settled(tuple(run), (), last, more=at is not None and at < before)


def _taken(recorded: Recorded) -> Sequence[tuple[int, int]]:
    return [*recorded.ranges, *((time, time) for time in recorded.runs)]
