"""Counters of ended runs by minute and priority, and their lateness histogram."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from onthedot.core.choices import Priority
from onthedot.core.errors import InvalidRequest, Problem
from onthedot.core.records import Kind, Record, Status
from onthedot.metrics import lateness_of

BOUNDS_MS: Final[tuple[int, ...]] = tuple(digit * 10**power for power in range(7) for digit in (1, 2, 5))
"""Upper bounds of the buckets, in milliseconds: 1, 2, 5, 10, 20, 50 … up to 5,000 seconds."""
BUCKETS: Final = len(BOUNDS_MS) + 1
"""The last bucket has all values above the last bound."""
OUTCOMES: Final = ("succeeded", "failed", "skipped", "cancelled")
NUMBERS: Final = (*OUTCOMES, "retries", "lost")
MAX_MS: Final = "max_ms"
_NO_COUNTS: Final = (0,) * BUCKETS


def bucket_of(lateness_ms: int) -> int:
    """Return the place of the bucket for a lateness. A value that equals a bound is in the bucket below it."""
    return bisect_left(BOUNDS_MS, lateness_ms)


BUCKET_NAMES: Final = tuple(f"b{bucket}" for bucket in range(BUCKETS))
STORED: Final = (*NUMBERS, *BUCKET_NAMES)
"""The names of all numbers that stores add up. Beside them they keep the largest lateness, `max_ms`."""


@dataclass(frozen=True, slots=True)
class Counters:
    succeeded: int = 0
    failed: int = 0
    skipped: int = 0
    cancelled: int = 0
    retries: int = 0
    """Attempts that failed or were lost and were tried again."""
    lost: int = 0
    """Attempts whose worker died."""
    counts: tuple[int, ...] = _NO_COUNTS
    """The histogram of lateness: a number for each bucket."""
    max_ms: int | None = None
    """The largest lateness. None: no attempt of these runs has ended."""

    @property
    def ended(self) -> int:
        return self.succeeded + self.failed + self.skipped + self.cancelled

    def percentile(self, share: float) -> int | None:
        """Return a bound, or the maximum, that this share of the attempts did not exceed. None: no attempts."""
        total = sum(self.counts)
        if not total or self.max_ms is None:
            return None
        wanted, seen = share * total, 0
        for bound, count in zip(BOUNDS_MS, self.counts, strict=False):
            seen += count
            if seen >= wanted:
                return min(bound, self.max_ms)
        return self.max_ms


def added(all_counters: Iterable[Counters]) -> Counters:
    every = list(all_counters)
    numbers = [sum(getattr(one, name) for one in every) for name in NUMBERS]
    counts = tuple(map(sum, zip(_NO_COUNTS, *(one.counts for one in every), strict=True)))
    latest = max((one.max_ms for one in every if one.max_ms is not None), default=None)
    return _counters(numbers, counts, latest)


def from_stored(stored: Mapping[str, int | None]) -> Counters:
    """Return counters from the numbers of a store. Names that are missing count as zero."""
    numbers = [stored.get(name) or 0 for name in NUMBERS]
    counts = tuple(stored.get(name) or 0 for name in BUCKET_NAMES)
    return _counters(numbers, counts, stored.get(MAX_MS))


def _counters(numbers: Sequence[int], counts: tuple[int, ...], max_ms: int | None) -> Counters:
    succeeded, failed, skipped, cancelled, retries, lost = numbers
    return Counters(succeeded, failed, skipped, cancelled, retries, lost, counts, max_ms)


MINUTE_MS: Final = 60_000
OUTCOME_OF: Final[Mapping[Status, str]] = {
    Status.SUCCEEDED: "succeeded",
    Status.FAILED: "failed",
    Status.SKIPPED: "skipped",
    Status.CANCELLED: "cancelled",
}
ENDED: Final = frozenset(OUTCOME_OF)
RUNS: Final = frozenset({Kind.ONE_OFF, Kind.STAMPED, Kind.SKIPPED_RANGE})
"""The kinds of records that are runs. Recurring jobs and event jobs have runs, but are not runs."""


@dataclass(frozen=True, slots=True)
class EndedRun:
    """The end of a run, or of several fire times that were skipped together."""

    tenant: str
    minute: int
    """The minute of the end, counted from 1970."""
    priority: Priority
    outcome: str
    number: int = 1
    retries: int = 0
    lost: int = 0
    lateness_ms: int | None = None
    """The lateness of the last attempt. None: the run did not end with an attempt."""


@dataclass(frozen=True, slots=True)
class PlacedEnd:
    """An end, and its place in one shard of a stream of changes."""

    position: int
    """It grows within the shard."""
    ended: EndedRun


@dataclass(frozen=True, slots=True)
class Before:
    """The facts of a record before a write that decide whether the write ends a run."""

    status: Status
    skipped_count: int | None = None


def end_of(old: Record | None, new: Record | None, at: int) -> EndedRun | None:
    """Return the end that is counted when `new` replaced `old` at about `at`.

    A record that was imported is not counted: its first write here is not its first revision, and the stage that it
    comes from has counted it.
    """
    if new is None or (old is None and new.revision > 1):
        return None
    return end_after(None if old is None else Before(old.status, old.skipped_count), new, at)


def end_after(before: Before | None, new: Record, at: int) -> EndedRun | None:
    """Return the end that a write is counted as.

    A run is counted when its status becomes that of an end. So a run that is redriven and ends again is counted again.
    Later writes of an ended run are not counted, but a skipped range that grows is, by the times that are new.
    """
    outcome = OUTCOME_OF.get(new.status)
    if outcome is None or new.kind not in RUNS:
        return None
    has_ended = before is not None and before.status in ENDED
    number = _size(new.kind, new.skipped_count)
    if before is not None and has_ended:
        number -= _size(new.kind, before.skipped_count)
    if number <= 0:
        return None
    ran = before is not None and before.status is Status.RUNNING
    ended_at = at if has_ended or new.finished_at is None else new.finished_at
    return EndedRun(
        new.tenant,
        ended_at // MINUTE_MS,
        new.priority,
        outcome,
        number,
        # The last attempt of a run that failed was not tried again.
        max(0, new.failures + new.losses - (ran and new.status is Status.FAILED)),
        new.losses,
        lateness_of(new) if ran else None,
    )


def _size(kind: Kind, skipped_count: int | None) -> int:
    """Return the fire times of a record: one, or those of a skipped range."""
    return 1 if kind is not Kind.SKIPPED_RANGE or skipped_count is None else skipped_count


def numbers_of(ended: EndedRun) -> dict[str, int]:
    """Return the numbers that an end adds, by the names of stores. Zeros are left out."""
    numbers = {ended.outcome: ended.number, "retries": ended.retries, "lost": ended.lost}
    if ended.lateness_ms is not None:
        numbers[BUCKET_NAMES[bucket_of(ended.lateness_ms)]] = 1
    return {name: number for name, number in numbers.items() if number}


def summed(ends: Iterable[EndedRun]) -> tuple[dict[str, int], int | None]:
    """Return the numbers that these ends add together, and their largest lateness."""
    numbers: Counter[str] = Counter()
    most: int | None = None
    for ended in ends:
        numbers.update(numbers_of(ended))
        if ended.lateness_ms is not None:
            most = max(most or 0, ended.lateness_ms)
    return dict(numbers), most


KEPT_DAYS: Final = 35
"""Days for which the counters of a minute are kept, and the longest range of one call."""
STEPS_SECONDS: Final = (60, 300, 3_600, 86_400)
FEW_STEPS: Final = 200
"""The most steps of a range whose step was not named."""
MOST_STEPS: Final = 1_500
HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class MinuteCounters:
    minute: int
    """Counted from 1970."""
    priority: Priority
    counters: Counters


@dataclass(frozen=True, slots=True)
class StepRange:
    """A range of time. Its steps begin at multiples of their length since 1970, in UTC."""

    since: int
    until: int
    step_ms: int

    @property
    def starts(self) -> range:
        return range(self.since, self.until, self.step_ms)

    @property
    def minutes(self) -> tuple[int, int]:
        return self.since // MINUTE_MS, -(-self.until // MINUTE_MS)


def step_range(since: int | None, until: int | None, step_seconds: int | None, now: int) -> StepRange:
    """Return the range that a caller asks for. Raise InvalidRequest.

    Without `until` it ends with the current minute, and without `since` it begins an hour before its end. Without a
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
