"""Counters of ended runs: outcomes, retries, lost attempts, and a histogram of lateness with fixed bounds.

Counters of any minutes, priorities and processes can be added, because all histograms have the same bounds.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from operator import add
from typing import Final

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


def bucket_name(bucket: int) -> str:
    """Return the name of a bucket as stores write it."""
    return f"b{bucket}"


BUCKET_NAMES: Final = tuple(bucket_name(bucket) for bucket in range(BUCKETS))
STORED: Final = (*NUMBERS, *BUCKET_NAMES)
"""The names of all numbers that stores add up. Beside them they keep the largest lateness, `max_ms`."""


@dataclass(frozen=True, slots=True)
class Counters:
    """The ends of some runs, counted."""

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
        """The number of ends."""
        return self.succeeded + self.failed + self.skipped + self.cancelled

    def percentile(self, share: float) -> int | None:
        """Return a lateness that this share of the attempts did not exceed. None: there was no attempt.

        It is the upper bound of a bucket, or the exact maximum where that is less.
        """
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
    """Return the sum of counters."""
    numbers, counts, most = [0] * len(NUMBERS), _NO_COUNTS, None
    for one in all_counters:
        numbers = [total + getattr(one, name) for total, name in zip(numbers, NUMBERS, strict=True)]
        counts = tuple(starmap(add, zip(counts, one.counts, strict=True)))
        most = one.max_ms if most is None else max(most, one.max_ms or 0)
    return _counters(numbers, counts, most)


def from_stored(stored: Mapping[str, int | None]) -> Counters:
    """Return counters from the numbers of a store. Names that are missing count as zero."""
    numbers = [stored.get(name) or 0 for name in NUMBERS]
    counts = tuple(stored.get(name) or 0 for name in BUCKET_NAMES)
    return _counters(numbers, counts, stored.get(MAX_MS))


def _counters(numbers: Sequence[int], counts: tuple[int, ...], max_ms: int | None) -> Counters:
    """Return counters from numbers in the order of `NUMBERS`."""
    succeeded, failed, skipped, cancelled, retries, lost = numbers
    return Counters(succeeded, failed, skipped, cancelled, retries, lost, counts, max_ms)
