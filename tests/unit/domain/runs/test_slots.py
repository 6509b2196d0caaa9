"""Buckets, shards, slots and the horizon."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.ids import job_id_for_key
from onthedot.core.slots import BUCKET_MS, bucket_of, fire_slot, horizon, is_near, shard_of, slot_shard, watch_slot
from tests.builders import NOON

instants = st.integers(0, 10**14)


@given(instants, st.integers(1, 10))
def test_everything_before_the_horizon_fits_an_sqs_delay(now: int, lookahead: int) -> None:
    assert lookahead * BUCKET_MS < horizon(now, lookahead) - now <= (lookahead + 1) * BUCKET_MS
    assert horizon(now, lookahead) + BUCKET_MS - now <= 900_000


@given(instants, st.integers(0, 15 * BUCKET_MS), st.integers(1, 10))
def test_what_is_not_near_lies_in_a_slot_that_no_pass_has_read_yet(now: int, ahead: int, lookahead: int) -> None:
    """Not even one by a clock that is a bucket ahead."""
    if not is_near(now + ahead, now, lookahead):
        assert bucket_of(now + ahead) > bucket_of(horizon(now + BUCKET_MS, lookahead) - 1)


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
