"""The history of the number of shards: no shard in which a record may be is ever forgotten."""

import json

from hypothesis import given
from hypothesis import strategies as st

from onthedot.core.shards import MOST_STEPS, RENEWED_AFTER, UNUSED_AFTER, ShardHistory, ShardStep, from_text, to_text

announcements = st.lists(st.tuples(st.integers(1, 64), st.integers(0, 10_000)), max_size=60)


def after(*announced: tuple[int, int]) -> ShardHistory:
    history = ShardHistory()
    for count, bucket in announced:
        history = history.announced(count, bucket)
    return history


def test_without_a_writer_no_shard_has_records() -> None:
    assert (ShardHistory().used, ShardHistory().born(0), ShardHistory().in_use(5)) == (0, None, 0)


def test_new_shards_are_born_with_their_first_writer() -> None:
    history = after((16, 100), (32, 500), (16, 600))
    assert history.used == 32
    assert [history.born(shard) for shard in (0, 15, 16, 31, 32)] == [100, 100, 500, 500, None]


def test_a_smaller_number_takes_no_shard_away() -> None:
    history = after((32, 100), (16, 500))
    assert (history.used, history.born(3), history.born(20)) == (32, 100, 100)


@given(announcements)
def test_every_shard_that_a_writer_used_is_served_from_its_first_writer(announced: list[tuple[int, int]]) -> None:
    history = after(*announced)
    assert len(history.steps) <= MOST_STEPS
    assert history.used == max((count for count, _ in announced), default=0)
    for shard in range(history.used):
        born = history.born(shard)
        assert born is not None
        assert born <= min(bucket for count, bucket in announced if count > shard)


@given(announcements)
def test_a_number_counts_as_used_for_a_day_after_its_last_writer(announced: list[tuple[int, int]]) -> None:
    history = after(*announced)
    for count, bucket in announced:
        assert history.in_use(bucket + UNUSED_AFTER - 1) >= count


@given(announcements)
def test_it_comes_back_from_text(announced: list[tuple[int, int]]) -> None:
    assert from_text(to_text(after(*announced))) == after(*announced)


def test_fields_of_a_newer_version_are_ignored() -> None:
    text = json.dumps([{"count": 2, "since": 3, "seen": 4, "why": "new"}])
    assert from_text(text) == ShardHistory((ShardStep(2, 3, 4),))


def test_an_announcement_holds_for_an_hour() -> None:
    history = after((16, 100))
    assert history.is_announced(16, 100 + RENEWED_AFTER - 1)
    assert not history.is_announced(16, 100 + RENEWED_AFTER)
    assert not history.is_announced(8, 100)


def test_a_number_that_no_writer_used_for_a_day_is_not_in_use() -> None:
    history = after((32, 100), (16, 500), (16, 100 + UNUSED_AFTER))
    assert history.in_use(99 + UNUSED_AFTER) == 32
    assert history.in_use(100 + UNUSED_AFTER) == 16
    assert history.in_use(10 * UNUSED_AFTER) == 16, "the number that was used last, after days without a writer"


def test_lowered_shards_keep_their_birth_and_a_raised_one_is_born_anew() -> None:
    lowered = after((32, 100), (16, 500)).lowered(16)
    assert (lowered.used, lowered.born(3), lowered.born(20)) == (16, 100, None)
    again = lowered.announced(32, 900)
    assert (again.used, again.born(3), again.born(20)) == (32, 100, 900)


def test_lowering_keeps_the_numbers_below() -> None:
    lowered = after((4, 50), (8, 100), (16, 300), (32, 400)).lowered(16)
    assert [lowered.born(shard) for shard in (0, 5, 10, 20)] == [50, 100, 300, None]
