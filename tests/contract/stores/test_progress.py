"""The progress of shards, and the lease of a tick."""

import json

import pytest

from onthedot.core.pass_progress import ProgressStore, ShardProgress
from onthedot.core.ports import Clock, TickLease
from tests.contract.kits.kit import Kit

pytestmark = pytest.mark.on_items

FIRST = ShardProgress(100, 101, 50, 60, 113)
LATER = ShardProgress(107, 108, 55, 60, 114)


def a_lease(clock: Clock, tick_id: str = "t1", shards: tuple[int, ...] = (0, 1), *, ms: int = 60_000) -> TickLease:
    return TickLease(shards, tick_id, clock.now() + ms)


def stored(progress: ProgressStore, clock: Clock, *shards: int) -> dict[int, ShardProgress]:
    """Read the progress as a tick does, and end that tick without a change."""
    lease = a_lease(clock, "reader", shards)
    read = progress.begin(lease, clock.now())
    assert read is not None
    progress.finish(lease, read, read if shards[0] in read else {**read, shards[0]: FIRST})
    return dict(read)


def test_a_shard_that_no_tick_has_visited_has_no_progress(progress: ProgressStore, clock: Clock) -> None:
    assert progress.begin(a_lease(clock), clock.now()) == {}


def test_progress_comes_back_as_written(progress: ProgressStore, clock: Clock) -> None:
    lease = a_lease(clock, shards=(0, 1, 2))
    progress.begin(lease, clock.now())

    assert progress.finish(lease, {}, {0: FIRST, 1: LATER, 2: FIRST}) == frozenset()

    assert stored(progress, clock, 0, 1, 2, 3) == {0: FIRST, 1: LATER, 2: FIRST}


def test_regrouped_shards_keep_their_progress(progress: ProgressStore, clock: Clock) -> None:
    lease = a_lease(clock, shards=(0, 1, 2, 3))
    progress.begin(lease, clock.now())
    progress.finish(lease, {}, dict.fromkeys(range(4), FIRST))

    assert stored(progress, clock, 2, 3) == {2: FIRST, 3: FIRST}


def test_many_shards_of_one_group(progress: ProgressStore, clock: Clock) -> None:
    shards = tuple(range(60))
    lease = a_lease(clock, shards=shards)
    progress.begin(lease, clock.now())

    assert progress.finish(lease, {}, dict.fromkeys(shards, FIRST)) == frozenset()

    assert stored(progress, clock, *shards) == dict.fromkeys(shards, FIRST)


def test_a_tick_that_was_overtaken_cannot_undo_the_other(progress: ProgressStore, clock: Clock) -> None:
    slow = a_lease(clock, "slow", ms=0)
    before = progress.begin(slow, clock.now() - 1)
    assert before == {}
    fast = a_lease(clock, "fast")
    assert progress.begin(fast, clock.now() + 1) == {}
    assert progress.finish(fast, {}, {0: LATER, 1: LATER}) == frozenset()

    assert progress.finish(slow, before, {0: FIRST, 1: FIRST}) == {0, 1}

    assert stored(progress, clock, 0, 1) == {0: LATER, 1: LATER}


def test_one_shard_that_was_overtaken_does_not_concern_the_others(progress: ProgressStore, clock: Clock) -> None:
    lease, other = a_lease(clock), a_lease(clock, "other", (1,))
    progress.begin(lease, clock.now())
    progress.begin(other, clock.now())
    progress.finish(other, {}, {1: LATER})

    assert progress.finish(lease, {}, {0: FIRST, 1: FIRST}) == {1}

    assert stored(progress, clock, 0, 1) == {0: FIRST, 1: LATER}


def test_a_second_tick_does_not_begin_while_the_first_is_under_way(progress: ProgressStore, clock: Clock) -> None:
    first = a_lease(clock)
    progress.begin(first, clock.now())

    assert progress.begin(a_lease(clock, "t2"), clock.now()) is None
    assert progress.begin(first, clock.now()) == {}, "the same tick was delivered again"

    progress.finish(first, {}, {0: FIRST, 1: FIRST})
    assert progress.begin(a_lease(clock, "t2"), clock.now()) == {0: FIRST, 1: FIRST}


def test_a_tick_begins_when_the_lease_of_a_dead_one_is_over(progress: ProgressStore, clock: Clock) -> None:
    dead = a_lease(clock)
    progress.begin(dead, clock.now())

    assert progress.begin(a_lease(clock, "t2"), dead.until - 1) is None
    assert progress.begin(a_lease(clock, "t2"), dead.until) == {}


def test_a_dead_tick_that_comes_back_does_not_end_its_successor(progress: ProgressStore, clock: Clock) -> None:
    dead = a_lease(clock)
    progress.begin(dead, clock.now())
    progress.begin(a_lease(clock, "t2", ms=120_000), dead.until)

    assert 0 in progress.finish(dead, {}, {0: FIRST, 1: FIRST})

    assert progress.begin(a_lease(clock, "t3"), dead.until) is None


def test_a_shard_with_which_only_a_dead_tick_began_gets_its_first_progress(
    progress: ProgressStore, clock: Clock
) -> None:
    progress.begin(a_lease(clock, "dead", (1, 2)), clock.now())
    lease = a_lease(clock)
    progress.begin(lease, clock.now())

    assert progress.finish(lease, {}, {0: FIRST, 1: LATER}) == frozenset()

    assert stored(progress, clock, 0, 1) == {0: FIRST, 1: LATER}


def test_progress_that_a_newer_version_wrote_is_read_and_replaced(kit: Kit) -> None:
    newer = {"deep_until": 60, "fire": 100, "watch": 101, "deep": 50, "early": 113, "wide": 7}
    for shard in (0, 1):
        kit.write_progress(shard, json.dumps(newer))
    progress, lease = kit.progress(), a_lease(kit.clock)
    before = progress.begin(lease, kit.clock.now())
    assert before == {0: FIRST, 1: FIRST}

    assert progress.finish(lease, before, {0: LATER, 1: LATER}) == frozenset()

    assert stored(progress, kit.clock, 0, 1) == {0: LATER, 1: LATER}


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"fire":{"0":7},"watch":{"0":7}}', 7])
@pytest.mark.parametrize("damaged", [0, 1])
def test_damaged_progress_of_one_shard_stops_no_tick(kit: Kit, damaged: int, text: str | int) -> None:
    progress, lease = kit.progress(), a_lease(kit.clock)
    progress.begin(lease, kit.clock.now())
    progress.finish(lease, {}, {0: FIRST, 1: FIRST})
    kit.write_progress(damaged, text)

    before = progress.begin(lease, kit.clock.now())

    assert before == {1 - damaged: FIRST}
    assert progress.finish(lease, before, {0: LATER, 1: LATER}) == frozenset()
    assert stored(progress, kit.clock, 0, 1) == {0: LATER, 1: LATER}


def test_the_lease_of_a_dead_tick_whose_clock_was_an_hour_ahead_stops_no_tick(
    progress: ProgressStore, clock: Clock
) -> None:
    progress.begin(a_lease(clock, "ahead", ms=3_600_000), clock.now() + 3_500_000)

    assert progress.begin(a_lease(clock), clock.now()) == {}
