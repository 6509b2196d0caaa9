"""Buckets, shards, slots, horizon and progress."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from onthedot.domain.ids import job_id_for_key
from onthedot.domain.runs.pass_progress import PassProgress, completed, first_bucket
from onthedot.domain.runs.slots import (
    BUCKET_MS,
    DEEP_REREAD,
    REREAD,
    SlotKind,
    bucket_of,
    fire_slot,
    horizon,
    is_near,
    shard_of,
    slot_shard,
    watch_slot,
)
from tests.builders import NOON

instants = st.integers(0, 10**14)


@given(instants, st.integers(1, 10))
def test_everything_before_the_horizon_fits_an_sqs_delay(now: int, lookahead: int) -> None:
    assert lookahead * BUCKET_MS < horizon(now, lookahead) - now <= (lookahead + 1) * BUCKET_MS
    assert horizon(now, lookahead) + BUCKET_MS - now <= 900_000


@given(instants, instants, st.integers(1, 10))
def test_what_is_not_near_lies_in_a_slot_that_no_pass_has_read_yet(now: int, fire_at: int, lookahead: int) -> None:
    if not is_near(fire_at, now, lookahead):
        assert bucket_of(fire_at) > bucket_of(horizon(now, lookahead) - 1)


@given(instants, instants)
def test_a_watch_slot_is_never_nearer_than_two_buckets(due: int, now: int) -> None:
    assert int(watch_slot(0, due, now).split("#")[2]) >= bucket_of(now) + 2


@given(instants, instants)
def test_a_fire_slot_is_never_in_the_past(fire_at: int, now: int) -> None:
    assert int(fire_slot(0, fire_at, now).split("#")[2]) >= bucket_of(now)


def test_shards_are_even_and_stable() -> None:
    counts = Counter(shard_of(f"job_{n}", 16) for n in range(16_000))
    assert set(counts) == set(range(16))
    assert max(counts.values()) < 1.2 * min(counts.values())
    assert (shard_of("job_a", 16), shard_of("job_a", 1024)) == (0, 368)
    assert slot_shard(fire_slot(7, NOON, NOON)) == 7


def test_keys_of_two_tenants_never_meet() -> None:
    assert job_id_for_key("a", "b:c") != job_id_for_key("a:b", "c")
    assert job_id_for_key("a", "k") == job_id_for_key("a", "k")


def test_progress_starts_where_the_table_was_born() -> None:
    assert PassProgress(born=50).of(SlotKind.FIRE, 3) == 50
    assert first_bucket(None, 1_000, 0) == 1_000 - REREAD


def test_a_new_shard_starts_at_the_least_of_the_others() -> None:
    progress = PassProgress().with_pass(SlotKind.FIRE, 0, 90).with_pass(SlotKind.FIRE, 1, 70)
    assert progress.of(SlotKind.FIRE, 2) == 70
    assert progress.of(SlotKind.WATCH, 2) is None


def test_progress_never_passes_what_was_left() -> None:
    assert completed(100, []) == 100
    assert completed(100, [97, 103, 98]) == 97


@given(st.integers(0, 10**8), st.integers(0, 1023))
def test_each_shard_reads_a_whole_day_back_once_a_day(start: int, shard: int) -> None:
    deep = [now for now in range(start, start + DEEP_REREAD) if first_bucket(now, now, shard) == now - DEEP_REREAD]
    assert len(deep) == 1
