"""Counters: histograms that can be added, and percentiles from their buckets."""

import random
from itertools import pairwise

import pytest

from onthedot.core.choices import Priority
from onthedot.statistics.counters import BOUNDS_MS, BUCKETS, Counters, EndedRun, added, bucket_of, from_stored, summed


def counted(*latenesses: int) -> Counters:
    numbers, most = summed(EndedRun("t", 1, Priority.LOW, "succeeded", lateness_ms=one) for one in latenesses)
    return from_stored({**numbers, "max_ms": most})


def test_the_bounds_grow_by_at_most_two_and_a_half_from_a_millisecond_to_more_than_an_hour() -> None:
    assert BOUNDS_MS[:6] == (1, 2, 5, 10, 20, 50)
    assert BOUNDS_MS[-1] > 3_600_000
    assert all(after <= 2.5 * before for before, after in pairwise(BOUNDS_MS))


@pytest.mark.parametrize(
    ("lateness", "bucket"), [(0, 0), (1, 0), (2, 1), (3, 2), (5, 2), (6, 3), (5_000_001, BUCKETS - 1)]
)
def test_a_value_is_in_the_first_bucket_whose_bound_it_does_not_exceed(lateness: int, bucket: int) -> None:
    assert bucket_of(lateness) == bucket


def test_counters_of_parts_add_up_to_those_of_the_whole() -> None:
    chance = random.Random(1)
    values = [chance.randrange(10 ** chance.randrange(1, 8)) for _ in range(500)]
    parts = [counted(*values[first : first + 7]) for first in range(0, 500, 7)]
    assert added(parts) == counted(*values)
    assert added([]) == Counters()


def test_the_maximum_is_exact_and_percentiles_are_within_a_bucket() -> None:
    chance = random.Random(2)
    values = sorted(chance.randrange(100_000) for _ in range(999))
    found = counted(*values)
    assert found.max_ms == values[-1]
    for share in (0.5, 0.99):
        exact, shown = values[round(share * 999) - 1], found.percentile(share)
        assert shown is not None
        assert exact <= shown <= max(1, exact) * 2.5


def test_a_percentile_is_never_above_the_maximum() -> None:
    assert counted(0).percentile(0.5) == 0
    assert counted(6_000_000).percentile(0.99) == 6_000_000
    assert counted(3, 3, 3).percentile(0.99) == 3


def test_without_attempts_there_is_no_percentile() -> None:
    skipped = Counters(skipped=3)
    assert (skipped.percentile(0.5), skipped.max_ms, skipped.ended) == (None, None, 3)
