"""The progress of the passes over the slots of a shard."""

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.pass_progress import ShardProgress, completed, deep_end, deep_range, first_bucket, first_progress
from onthedot.core.slots import DEEP_BUCKETS, DEEP_REREAD, REREAD

BUCKETS = st.integers(0, 10**8)


def test_a_new_shard_begins_at_its_first_writer() -> None:
    progress = first_progress(0, 50, 1_000)
    assert (progress.fire, progress.watch) == (50, 50)
    assert first_bucket(progress.fire, 1_000) == 50 - REREAD


def test_a_shard_that_no_writer_has_used_begins_now() -> None:
    assert first_progress(3, None, 1_000).fire == 1_000


def test_a_pass_begins_five_buckets_before_the_last_one() -> None:
    assert first_bucket(100, 107) == 95
    assert first_bucket(110, 107) == 102, "the clock of another dispatcher was ahead"


def test_progress_never_passes_a_slot_where_a_record_was_left() -> None:
    assert completed(90, 100, []) == 100
    assert completed(90, 100, [97, 103, 98]) == 97


@given(BUCKETS, BUCKETS, st.lists(BUCKETS))
def test_progress_never_moves_back(done: int, present: int, left: list[int]) -> None:
    after = completed(done, present, left)
    assert after >= min(done, present)
    assert after <= max(min(done, present), min([present, *left]))


@given(BUCKETS, BUCKETS, st.integers(0, REREAD))
def test_a_slot_that_was_left_is_read_by_the_next_tick_though_a_clock_was_ahead(
    done: int, present: int, back: int
) -> None:
    left = first_bucket(done, present) + back
    after = completed(done, present, [left])
    assert all(first_bucket(after, later) <= left for later in (present + 1, present + 100))


def test_a_deep_read_does_not_pass_the_present_though_a_clock_was_ahead() -> None:
    ahead = ShardProgress(fire=5_060, watch=5_060, deep=3_000, deep_until=3_000, early=5_073)
    assert deep_end(ahead, 5_000) == 5_000 - REREAD


def test_a_record_that_is_left_again_and_again_is_read_again_and_again() -> None:
    done = 100
    for present in range(101, 200):
        assert first_bucket(done, present) <= 98
        done = completed(done, present, [98])


@given(st.integers(2_000, 10**8), st.integers(0, 1023))
def test_each_bucket_is_read_a_second_time_within_a_day_or_so(start: int, shard: int) -> None:
    progress = first_progress(shard, start, start)
    read: Counter[int] = Counter()
    for present in range(start, start + 3 * DEEP_REREAD):
        buckets = deep_range(progress, present)
        assert len(buckets) <= DEEP_BUCKETS
        read.update(buckets)
        deep = buckets.stop if buckets else progress.deep
        progress = ShardProgress(present, present, deep, deep_end(progress, present), present)
    assert set(read.values()) <= {1}
    assert set(range(start, start + DEEP_REREAD)) <= set(read)


def test_a_deep_read_that_left_a_record_goes_on_there() -> None:
    progress = ShardProgress(fire=5_000, watch=5_000, deep=3_000, deep_until=3_000, early=5_000)
    assert deep_range(progress, 5_000) == range(3_000, 3_000 + DEEP_BUCKETS)
    under_way = ShardProgress(5_001, 5_001, 3_040, deep_end(progress, 5_000), 5_001)
    assert deep_range(under_way, 5_001) == range(3_040, 3_040 + DEEP_BUCKETS)
    nearly = ShardProgress(5_001, 5_001, 4_990, 4_995, 5_001)
    assert deep_range(nearly, 5_001) == range(4_990, 4_995)


def test_a_deep_re_read_begins_once_a_day_and_the_one_under_way_keeps_its_end() -> None:
    ended = ShardProgress(fire=10_000, watch=10_000, deep=9_000, deep_until=9_000, early=10_000)
    under_way = replace(ended, deep=7_000, deep_until=9_000)

    assert list(deep_range(ended, 9_000 + DEEP_REREAD - 1)) == []
    assert deep_range(ended, 9_000 + DEEP_REREAD) == range(9_000, 9_000 + DEEP_BUCKETS)
    assert deep_end(under_way, 7_000 + 2 * DEEP_REREAD) == 9_000
