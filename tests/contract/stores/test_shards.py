"""The stored number of shards: no writer is overwritten, and no larger number is lost."""

import threading
from dataclasses import replace

import pytest

from onthedot.core.errors import Unavailable
from onthedot.core.ports import Clock, RunStore
from onthedot.core.records import Status
from onthedot.core.shards import ShardHistory, ShardStep, ShardStore
from onthedot.core.slots import Deployment, bucket_of
from onthedot.engines.store_around import AnnouncingStore, announce
from tests.builders import a_run
from tests.contract.kits.kit import PAGE_SIZE, Kit

ONE = ShardHistory((ShardStep(16, 100, 200),))
TWO = ONE.announced(32, 300)


def test_before_the_first_writer_the_history_is_empty(shards: ShardStore) -> None:
    assert shards.read() == ShardHistory()


def test_a_history_comes_back_as_written(shards: ShardStore) -> None:
    assert shards.replace(ShardHistory(), ONE)
    assert shards.replace(ONE, TWO)
    assert shards.read() == TWO


def test_a_history_that_was_not_seen_is_not_replaced(shards: ShardStore) -> None:
    assert shards.replace(ShardHistory(), TWO)
    assert not shards.replace(ShardHistory(), ONE)
    assert not shards.replace(ONE, ONE.announced(8, 400))
    assert shards.read() == TWO


def test_writers_that_announce_at_once_all_count(kit: Kit) -> None:
    counts = (4, 8, 16, 32)
    together = threading.Barrier(len(counts))

    def announced(count: int) -> None:
        shards = kit.shards()
        together.wait()
        announce(shards, count, kit.clock.now())

    threads = [threading.Thread(target=announced, args=(count,)) for count in counts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [step.count for step in kit.shards().read().steps] == list(counts)


def test_a_store_announces_its_number_before_its_first_write(store: RunStore, shards: ShardStore, clock: Clock) -> None:
    announcing = AnnouncingStore(store, shards, clock, 16)
    assert announcing.get("job_none") is None
    assert shards.read() == ShardHistory()
    a_run(clock).stored_in(announcing)
    assert shards.read().used == 16
    assert (shards.read().born(3) or 0) <= bucket_of(clock.now())


def test_the_slots_of_all_live_records_are_read_page_by_page(kit: Kit, store: RunStore, clock: Clock) -> None:
    many = Deployment(shards=64, lookahead=3, history_days=7)
    runs = [a_run(clock, many).due_in(3_600).stored_in(store) for _ in range(2 * PAGE_SIZE + 1)]
    found: list[str] = []
    cursor: str | None = None
    pages = 0
    while cursor is not None or not pages:
        page = kit.due_index().slots(cursor)
        found += page.items
        cursor = page.cursor
        pages += 1
    assert sorted(found) == sorted(run.slot or "" for run in runs)
    assert pages > 1


def test_records_without_a_slot_are_not_among_them(kit: Kit, store: RunStore, clock: Clock) -> None:
    store.create(replace(a_run(clock).build(), status=Status.PAUSED, slot=None))
    assert kit.due_index().slots().items == []


class Away:
    """A stored history that cannot be reached."""

    def read(self) -> ShardHistory:
        raise Unavailable("throttled")

    def replace(self, seen: ShardHistory, history: ShardHistory) -> bool:
        raise Unavailable("throttled")


def test_a_store_that_cannot_announce_writes_nothing(store: RunStore, clock: Clock) -> None:
    run = a_run(clock).build()
    with pytest.raises(Unavailable):
        AnnouncingStore(store, Away(), clock, 16).create(run)  # type: ignore[arg-type]
    assert store.get(run.run_id) is None
